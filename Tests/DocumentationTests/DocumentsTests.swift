import Foundation
import Testing

/// Checks that the documents' Swift code is tested, that their links lead somewhere, and that a picture shows its code.
@Suite struct DocumentsTests {
    /// The code of this folder, without white space.
    private static let tested: String = Package.files(under: "Tests/DocumentationTests", named: ".swift")
        .compactMap { try? String(contentsOf: $0, encoding: .utf8) }
        .joined().filter { !$0.isWhitespace }

    private static func path(of file: URL) -> String {
        String(file.standardizedFileURL.path.dropFirst(Package.root.standardizedFileURL.path.count + 1))
    }

    static let documents = ["README.md"] + Package.files(under: "Sources", named: ".md").map(path).sorted()

    /// The pages that are read as files.
    static let pages =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "Benchmarks/README.md"]
        + Package.files(under: "Tests", named: "README.md").map(path)
        + Package.files(under: "Documentation", named: ".md").map(path)

    private static func examples(in document: String) throws -> [String] {
        try Package.text(of: document).components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "\n```")[0] }
    }

    @Test("Documents: every Swift example occurs in the tests, white space aside", arguments: documents)
    func examplesAreTested(document: String) throws {
        for example in try Self.examples(in: document) {
            let isTested = Self.tested.contains(example.filter { !$0.isWhitespace })
            #expect(isTested, "\(document): not in the tests: \(example)")
        }
    }

    @Test("Documents: the examples are found")
    func examplesAreFound() throws {
        #expect(try Self.examples(in: "README.md").count >= 6)
        #expect(try Self.documents.count >= 14 && Self.documents.flatMap(Self.examples).count >= 60)
    }

    @Test("Documents: what a document links to exists", arguments: pages)
    func links(page: String) throws {
        let folder = Package.root.appending(path: page).deletingLastPathComponent()
        for match in try Package.text(of: page).matches(of: #/\]\(([^():#]+)(#[^)]*)?\)/#) {
            let target = folder.appending(path: String(match.output.1)).standardizedFileURL
            #expect(FileManager.default.fileExists(atPath: target.path), "\(page): \(match.output.1)")
        }
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
