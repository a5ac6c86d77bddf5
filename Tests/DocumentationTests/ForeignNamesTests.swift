import CompilerProcess
import Foundation
import TestSupport
import Testing

/// Compares this package's top-level names with those of modules that programs import beside it
/// (`Contexts/ForeignNames.txt`): a name of both is ambiguous where a file imports both.
@Suite(.watchdog(atOnce: .few)) struct ForeignNamesTests {
    /// The names that stay in spite of a clash. NameClashes.md says what to do.
    static let known: Set = ["Deferred"]

    /// The top-level types of this package, then its modules and functions.
    private let types: Set<String>
    private let others: Set<String>
    /// The modules that have a name, by name.
    private let foreign: [String: [String]]

    init() throws {
        let declaration = try Regex(
            "(?m)^(?:[@\\w.()]+ )*?(?:public|open) (?:[@\\w()]+ )*?(class|struct|enum|protocol|actor|typealias|func|let|var|macro) (\\w+)",
            as: (Substring, Substring, Substring).self)
        var (types, others) = (Set<String>(), Set<String>())
        for file in Package.files(under: "Documentation/API", named: ".swiftinterface") {
            others.insert(file.deletingPathExtension().lastPathComponent)
            for match in try String(contentsOf: file, encoding: .utf8).matches(of: declaration) {
                let isType = !["func", "let", "var", "macro"].contains(match.output.1)
                if isType {
                    types.insert(String(match.output.2))
                } else {
                    others.insert(String(match.output.2))
                }
            }
        }
        (self.types, self.others) = (types, others)
        var foreign: [String: [String]] = [:]
        var module = ""
        for line in try Package.text(of: "Tests/DocumentationTests/Contexts/ForeignNames.txt").split(
            separator: "\n")
        {
            guard !line.hasPrefix("#") else {
                module = String(line.dropFirst(2).prefix { $0 != "," })
                continue
            }
            for name in line.split(separator: " ") { foreign[String(name), default: []].append(module) }
        }
        self.foreign = foreign
    }

    @Test("Name clashes: the lists are read: names of this package, and those that it had to avoid")
    func lists() {
        #expect(types.count > 50 && others.isSuperset(of: ["gather", "drainMainActor", "Multicast"]))
        #expect(foreign.count > 3000)
        #expect(foreign["Resolver"] == ["NIOPosix"])
        #expect(foreign["Channel"]?.contains("NIOCore") == true)
        #expect(foreign["SourceLocation"]?.contains("Testing") == true)
        for (name, module) in [
            ("DatabaseQueue", "GRDB"), ("Router", "Hummingbird"), ("AsyncChannel", "AsyncAlgorithms"),
            ("Logger", "Logging"), ("HTTPHandler", "FlyingFox"), ("URLSession", "FoundationNetworking"),
            ("View", "SwiftUI"), ("Abort", "Vapor"), ("HTTPServerPipelineHandler", "NIOHTTP1"),
            ("EmbeddedChannel", "NIOEmbedded"), ("AnyCancellable", "OpenCombine"),
        ] {
            #expect(foreign[name]?.contains(module) == true, "\(name) of \(module)")
        }
    }

    @Test("Name clashes: no top-level name is one of another module, but those that NameClashes.md names")
    func noClash() throws {
        let clashes = types.union(others).filter { foreign[$0] != nil }
        #expect(clashes == Self.known, "\(clashes.map { ($0, foreign[$0] ?? []) })")
        let article = try Package.text(of: "Sources/Deferred/Deferred.docc/NameClashes.md")
        for name in clashes {
            #expect(article.contains("`\(name)`"))
            for module in foreign[name] ?? [] { #expect(article.contains(module), "\(name) of \(module)") }
        }
    }

    @Test(
        "Name clashes: every type of this package compiles beside all those names, but the ones that are known"
    )
    func compiled() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ForeignNames-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let compiler = try Compiler()
        let file = folder.appending(path: "Foreign.swift")
        let declarations = foreign.keys.sorted().map { "public struct `\($0)` {}" }
        try declarations.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        try await compiler.emitModule("Foreign", of: [file], to: folder)

        let modules = others.filter { $0.first?.isUppercase == true }.sorted()
        let uses = types.sorted().map { "typealias Our\($0) = \($0)" }
        let source = (["import Foreign"] + modules.map { "import \($0)" } + uses).joined(separator: "\n")
        let complaints = try await compiler.complaints(about: source, flags: ["-I", folder.path])
        let lines = source.split(separator: "\n")
        let refused = complaints.filter(\.isError).map {
            String(lines[$0.line - 1].split(separator: " ").last!)
        }
        #expect(Set(refused) == Self.known, "\(complaints)")
    }
}
