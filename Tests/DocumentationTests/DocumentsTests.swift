import CompilerProcess
import Foundation
import Testing

/// Checks that the documents' Swift code compiles, that their links lead somewhere, and that a picture shows its code.
@Suite struct DocumentsTests {
    /// The pages that are read as files.
    static let pages =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "Benchmarks/README.md"]
        + ["Tests", "Integrations"].flatMap { folder in
            Package.files(under: folder, named: "README.md").map(Package.path)
                .filter { !$0.contains("/.build") }
        }
        + Package.files(under: "Documentation", named: ".md").map(Package.path)

    /// A page by which another isolation is the default, and one whose code `NameClashesTests` compiles.
    private static let (isolated, clashing) = ("MainActorByDefault", "NameClashes")

    /// Whether the compiler finds the module `Testing`. Xcode's does so only for a package.
    #if os(macOS)
    private static let hasTesting = false
    #else
    private static let hasTesting = true
    #endif

    /// Returns what the compiler says about the code in `documents`, but for results and constants that nothing uses.
    private func complaints(
        about documents: [Document], flags: [String] = []
    ) async throws -> [Compiler.Complaint] {
        let common = try Package.text(of: "Tests/DocumentationTests/Contexts/Common.swift")
        var sources = ["Common.swift": common]
        for document in documents { sources["\(document.name)Code.swift"] = try document.source() }
        return try await Compiler().complaints(about: sources, flags: flags)
            .filter { $0.isError || !$0.message.contains(#/unused|never (used|mutated|read)/#) }
    }

    @Test("Documents: every Swift example in an article compiles, and every row of a table of translations")
    func examples() async throws {
        let documents = try Document.all().filter { document in
            ![Self.isolated, Self.clashing].contains(document.name)
                && (Self.hasTesting || !document.blocks.contains { $0.code.contains("#expect") })
        }
        #expect(documents.count >= 18 && documents.flatMap(\.blocks).count >= 120)
        #expect(documents.flatMap(\.rows).count >= 150)
        let complaints = try await complaints(about: documents)
        #expect(complaints.isEmpty, "\(complaints)")
    }

    @Test(
        "Documents: the examples for modules that are isolated to the main actor compile in such a module",
        .enabled(if: hasTesting))
    func isolatedExamples() async throws {
        let documents = try Document.all().filter { $0.name == Self.isolated }
        #expect(documents.flatMap(\.blocks).count == 9)
        let complaints = try await complaints(about: documents, flags: ["-default-isolation", "MainActor"])
        #expect(complaints.isEmpty, "\(complaints)")
    }

    @Test("Documents: every example of the README occurs in the tests, white space aside")
    func readme() throws {
        let tests = try Package.text(of: "Tests/DocumentationTests/ReadmeTests.swift")
            .filter { !$0.isWhitespace }
        let blocks = try Document("README.md").blocks
        #expect(blocks.count == 6)
        for block in blocks { #expect(tests.contains(block.code.filter { !$0.isWhitespace }), "\(block)") }
    }

    @Test("Documents: what a document links to exists", arguments: pages)
    func links(page: String) throws {
        let folder = Package.root.appending(path: page).deletingLastPathComponent()
        for match in try Package.text(of: page).matches(of: #/\]\(([^():#]+)(#[^)]*)?\)/#) {
            let target = folder.appending(path: String(match.output.1)).standardizedFileURL
            #expect(FileManager.default.fileExists(atPath: target.path), "\(page): \(match.output.1)")
        }
    }

    @Test(
        "Documents: the code from Integrations is as it stands there, where it is compiled and run, white space aside",
        arguments: [
            ("InAServer", "# In a server"), ("InAnApp", "# In an app"), ("Porting", "## Combine"),
            ("ThreadsAndDispatchers", "## A timer of your own"),
        ])
    func quotations(article: String, heading: String) throws {
        let path = "Sources/Deferred/Deferred.docc/\(article).md"
        let lines = try Package.text(of: path).split(separator: "\n", omittingEmptySubsequences: false)
        let first = try #require(lines.firstIndex { $0 == heading })
        let quotations = try Document(path).quotations.filter { $0.line > first }
        #expect(!quotations.isEmpty)
        let sources = try ["Integrations/Sources", "Integrations/Tests", "Integrations/Examples"]
            .flatMap { folder in Package.files(under: folder, named: ".swift") }
            .filter { !$0.path.contains("/.build") }
            .map { try String(contentsOf: $0, encoding: .utf8).filter { !$0.isWhitespace } }
        for quotation in quotations {
            let code = quotation.code.filter { !$0.isWhitespace }
            #expect(sources.contains { $0.contains(code) }, "\(article), line \(quotation.line)")
        }
    }

    @Test(
        "Documents: the examples of Integrations are short, the bridges that they link to aside",
        arguments: ["HTTPService", "Screen"])
    func shortIntegrations(name: String) throws {
        let texts = try Package.files(under: "Integrations/Examples/\(name)/Sources", named: ".swift")
            .filter { try $0.resourceValues(forKeys: [.isSymbolicLinkKey]).isSymbolicLink != true }
            .map { try String(contentsOf: $0, encoding: .utf8) }
        #expect((1..<250).contains(texts.joined().count { $0.isNewline }))
    }

    @Test("Documents: the programs to read are short", arguments: ["linkcheck", "ingest", "search"])
    func shortPrograms(name: String) throws {
        let texts = try Package.files(under: "Examples/\(name)", named: ".swift")
            .map { try String(contentsOf: $0, encoding: .utf8) }
        #expect((1..<200).contains(texts.joined().count { $0.isNewline }))
    }

    @Test(
        "Documents: the steps in the picture of a chain are those of the article", arguments: ["", "~dark"])
    func chain(version: String) throws {
        let articles = "Sources/Deferred/Deferred.docc"
        let picture = try Package.text(of: "\(articles)/Resources/chain\(version).svg")
        let article = try Package.text(of: "\(articles)/TheChain.md")
        let steps = picture.matches(of: #/class="code">([^<]*\{[^<]*)</#).map { String($0.output.1) }
        #expect(steps.count == 5)
        for step in steps { #expect(article.contains(step), "not in TheChain.md: \(step)") }
    }
}
