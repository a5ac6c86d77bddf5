import Foundation
import PlantedFaults

/// A source file and its changes so far.
struct Source {
    let name: String
    /// The path in messages and traces, from the root of the repository on.
    private let path: String
    /// One of `Shadows`, which are copied into every module.
    let isShadow: Bool
    private var text: String
    private var hasFaults = false

    init(_ path: String) throws {
        let parts = path.split(separator: "/")
        let start = parts.lastIndex { $0 == "Shadows" || $0 == "Sources" } ?? 0
        name = String(parts[parts.count - 1])
        isShadow = parts[start] == "Shadows"
        self.path = (isShadow ? "Tests/Interleaving/" : "") + parts[start...].joined(separator: "/")
        text = try String(contentsOfFile: path, encoding: .utf8)
        // To spin before sleeping makes no difference here but to the number of steps.
        if name == "ReadersWriterLock.swift" { text = text.replacing("rounds < 20_000", with: "rounds < 1") }
    }

    /// The modules that it imports without an access level.
    var plainImports: Set<String> {
        Set(text.split(separator: "\n").filter { $0.hasPrefix("import ") }.map { String($0.dropFirst(7)) })
    }

    /// Removes the access level of imports that have none elsewhere in the module: the compiler refuses a
    /// mixture.
    mutating func makePlain(_ modules: Set<String>) {
        for module in modules {
            text = text.replacing("internal import \(module)\n", with: "import \(module)\n")
        }
    }

    /// The number of occurrences of a text in the file.
    func count(of text: String) -> Int { isShadow ? 0 : self.text.ranges(of: text).count }

    /// Makes a change that is part of a fault. It asks itself whether the fault is switched on.
    mutating func plant(_ change: PlantedFault.Change) {
        guard let place = text.firstRange(of: change.original) else { return }
        let extra = change.planted.count { $0 == "\n" } - change.original.count { $0 == "\n" }
        text.replaceSubrange(place, with: Self.joining(max(0, extra), change.planted))
        hasFaults = true
    }

    /// Joins the first lines of a text, so that what follows it has the line numbers of the original.
    private static func joining(_ count: Int, _ text: String) -> String {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for _ in 0..<count where lines.count > 1 {
            let next = lines.remove(at: 1).drop { $0 == " " }
            let continues = lines[0].last.map { "{(,=:?&|".contains($0) } ?? true
            let separator = continues || next.isEmpty || ".}?&|".contains(next.first!) ? " " : "; "
            lines[0] += separator + next
        }
        return lines.joined(separator: "\n")
    }

    func write(to folder: URL) throws {
        let faults = hasFaults ? "internal import CInterleaving\n" : ""
        let text = "\(faults)#sourceLocation(file: \"\(path)\", line: 1)\n" + text
        // Another name than the original, as there would be two files with one `#fileID`.
        let file = folder.appending(path: "Instrumented-" + name)
        if let old = try? String(contentsOf: file, encoding: .utf8), old == text { return }
        try text.write(to: file, atomically: true, encoding: .utf8)
    }
}
