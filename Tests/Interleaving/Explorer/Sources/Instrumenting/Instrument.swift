import Foundation

/// Copies the sources of a module, with faults planted in them and, beside them, types that take the place of the system's.
public struct Instrument {
    /// How a copy finds out which fault is switched on.
    public enum Switch {
        /// The explorer's, which it changes between runs.
        case explorer
        /// The environment variable `DEFERRED_FAULT`, which is read once.
        case environment
    }

    private let module: String
    private let faults: [PlantedFault]
    private var sources: [Source]

    /// - Parameter faults: The folder that has a folder for each module with faults; see ``PlantedFault``.
    public init(module: String, faults: URL, files: [URL]) throws {
        self.module = module
        self.faults = try PlantedFault.of(module, in: faults)
        sources = try files.map(Source.init)
    }

    /// Writes copies that refer to the originals in messages, traces and `#fileID`.
    public mutating func write(to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let imports = sources.filter { !$0.isShadow }.reduce(into: Set()) { $0.formUnion($1.plainImports) }
        try plant()
        for source in sources {
            // Another name than the original's, as there would be two files with one `#fileID`.
            let text =
                "#sourceLocation(file: \"\(source.path)\", line: 1)\n"
                + (source.isShadow ? source.plain(imports) : source.text)
            try Self.update(folder.appending(path: "Instrumented-" + source.name), text)
        }
        let text = Self.explorersSwitch.replacing(
            "internal import", with: imports.contains("CInterleaving") ? "import" : "internal import")
        try Self.update(folder.appending(path: "Instrumented-PlantedSwitch.swift"), text)
    }

    /// Changes the files themselves, which are copies, to be switched by the environment. Does nothing without faults.
    public mutating func writeInPlace() throws {
        guard let first = sources.first, !faults.isEmpty else { return }
        try plant()
        for source in sources { try Self.update(source.file, source.text) }
        try Self.update(
            first.file.deletingLastPathComponent().appending(path: "PlantedSwitch.swift"),
            Self.environmentsSwitch)
    }

    private mutating func plant() throws {
        let own = sources.indices.filter { !sources[$0].isShadow }
        let planted = try Planting.plant(faults, in: own.map { sources[$0].text })
        for (index, planted) in zip(own, planted) { sources[index].text = planted.text }
    }

    private static func update(_ file: URL, _ text: String) throws {
        if let old = try? String(contentsOf: file, encoding: .utf8), old == text { return }
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    private static let explorersSwitch = """
        internal import CInterleaving

        /// Whether a planted fault is switched on.
        @usableFromInline
        func isPlanted(_ number: Int32) -> Bool { il_is_planted(number) }

        """

    // `getenv` without a module that another file of this one may import otherwise.
    private static let environmentsSwitch = """
        @_silgen_name("getenv")
        private func variable(_ name: UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>?

        private let plantedFault = variable("DEFERRED_FAULT").flatMap { Int32(String(cString: $0)) } ?? 0

        /// Whether a planted fault is switched on.
        @usableFromInline
        func isPlanted(_ number: Int32) -> Bool { number == plantedFault }

        """
}

/// A source file.
private struct Source {
    let file: URL
    var name: String { file.lastPathComponent }
    /// The path in messages and traces, from the root of the repository on.
    let path: String
    /// One that is copied into every module.
    let isShadow: Bool
    var text: String

    init(_ file: URL) throws {
        self.file = file
        let parts = file.resolvingSymlinksInPath().pathComponents
        let isShadow = parts.contains("Shadows")
        let start = parts.lastIndex { $0 == "Tests" || $0 == "Sources" && !isShadow } ?? 0
        path = parts[start...].joined(separator: "/")
        self.isShadow = isShadow
        text = try String(contentsOf: file, encoding: .utf8)
    }

    /// The modules that it imports without an access level.
    var plainImports: Set<String> {
        Set(text.split(separator: "\n").filter { $0.hasPrefix("import ") }.map { String($0.dropFirst(7)) })
    }

    /// The text without the access level of imports that have none elsewhere in the module: the compiler refuses a mixture.
    func plain(_ modules: Set<String>) -> String {
        modules.reduce(text) { $0.replacing("internal import \($1)\n", with: "import \($1)\n") }
    }
}
