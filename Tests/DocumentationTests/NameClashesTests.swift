import CompilerProcess
import Foundation
import TestSupport
import Testing

/// Compiles the code of NameClashes.md about modules with a type, or a name, of their own that is `Deferred`.
/// The compiler checks it against modules that stand in for Combine and for another package.
@Suite(.watchdog(atOnce: .few)) final class NameClashesTests {
    private let compiler: Compiler
    private let folder: URL
    /// The imports beside Combine, an alias, and the imports beside another package.
    private let article: [String]

    init() throws {
        article = try Document("Sources/Deferred/Deferred.docc/NameClashes.md").blocks.map(\.code)
        compiler = try Compiler()
        folder = FileManager.default.temporaryDirectory.appending(path: "NameClashes-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func module(_ name: String, _ source: String) async throws {
        let file = folder.appending(path: "\(name).swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        try await compiler.emitModule(name, of: [file], to: folder)
    }

    /// As in Combine: a publisher that is created when something subscribes.
    private func combine() async throws {
        try await module(
            "Combine",
            """
            public protocol Publisher<Output> { associatedtype Output }
            public struct Just<Output>: Publisher { public init(_ output: Output) {} }
            public struct Deferred<DeferredPublisher: Publisher>: Publisher {
                public typealias Output = DeferredPublisher.Output
                public init(createPublisher: @escaping () -> DeferredPublisher) {}
            }
            """)
    }

    /// Returns what the compiler says about `source` after `imports`.
    private func complaints(_ imports: String, _ source: String) async throws -> [Compiler.Complaint] {
        try await compiler.complaints(
            about: imports + "\nfunc use() {\n" + source + "\n}\n", flags: ["-I", folder.path])
    }

    @Test("Name clashes: with Combine, the type is imported by its name")
    func combineBeside() async throws {
        try await combine()
        let complaints = try await complaints(
            article[0],
            """
            let page: Deferred<String> = .resolved("page")
            let list = DeferredList([page, Deferred<String>()])
            let publisher = Combine.Deferred { Just(1) }
            _ = (list.values(), publisher)
            """)
        #expect(complaints == [])
    }

    @Test("Name clashes: with Combine, two plain imports compile only with a module selector")
    func plainImports() async throws {
        try await combine()
        for type in ["Deferred<String>", "Deferred.Deferred<String>", "Deferred::Deferred<String>"] {
            let complaints = try await complaints(
                "import Combine\nimport Deferred", "let page: \(type)? = nil\n_ = page")
            #if compiler(>=6.3)
            #expect(complaints.contains { $0.isError } != type.contains("::"), "\(type)")
            #else
            #expect(complaints.contains { $0.isError }, "\(type)")
            #endif
        }
    }

    @Test("Name clashes: the compiler says what the article's table says")
    func messages() async throws {
        try await combine()
        let rows = try Package.text(of: "Sources/Deferred/Deferred.docc/NameClashes.md")
            .matches(of: #/(?m)^\| (.*?)`(Deferred[.<][^`]*)` \| (.*) \|$/#).map(\.output)
        #expect(rows.count == 3)
        for (_, condition, code, message) in rows {
            let imports = condition.isEmpty ? "import Combine\nimport Deferred" : "import Combine"
            let use = code.hasSuffix(")") ? "_ = \(code)" : "let page: \(code)? = nil\n_ = page"
            let complaints = try await complaints(imports, use)
            #expect(complaints.contains { $0.message == message }, "\(code): \(complaints)")
        }
    }

    @Test("Name clashes: one import by name in one file serves the others through an alias")
    func typeAlias() async throws {
        try await combine()
        let complaints = try await compiler.complaints(
            about: (article[..<2] + ["func fetchPage() -> Eventual<String> { .resolved(\"page\") }"])
                .joined(separator: "\n"), flags: ["-I", folder.path])
        #expect(complaints == [])
    }

    /// What SwiftPM does for `moduleAliases: ["Deferred": "TwistedDeferred"]`: it compiles this package's module
    /// under the other name.
    @Test("Name clashes: with another module named Deferred, this one is used under an alias")
    func moduleAliases() async throws {
        try await module("Deferred", "public struct Deferred<Value> { public init(_ value: Value) {} }")
        try await compiler.emitModule(
            "TwistedDeferred", of: Package.files(under: "Sources/Deferred", named: ".swift"), to: folder,
            flags: ["-module-alias", "Deferred=TwistedDeferred", "-package-name", "Deferred"])

        // Not the modules of this build: there, Deferred is this package's.
        let use = folder.appending(path: "Use.swift")
        let function = """

            func use() {
                let page: Deferred<String> = .resolved("page")
                page.map { $0.count }.done { print($0) }
            }
            """
        try (article[2] + function).write(to: use, atomically: true, encoding: .utf8)
        let output = try await compiler.run(
            ["-typecheck", "-parse-as-library", "-I", folder.path, use.path],
            output: folder.appending(path: "output"))
        #expect(output == "")
    }
}
