import Foundation
import Testing

/// Checks that the Swift code in the documents is tested: each code block must occur in a file of this folder,
/// white space aside.
@Suite struct ExamplesTests {
    private static let here = URL(filePath: #filePath).deletingLastPathComponent()
    private static let root = here.deletingLastPathComponent().deletingLastPathComponent()

    private static func files(under folder: URL, named suffix: String) -> [URL] {
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (found?.compactMap { $0 as? URL } ?? []).filter { $0.lastPathComponent.hasSuffix(suffix) }
    }

    private static let tested: String = files(under: here, named: ".swift")
        .compactMap { try? String(contentsOf: $0, encoding: .utf8) }
        .joined().filter { !$0.isWhitespace }

    /// Paths relative to the package, for the tests' names.
    static let documents: [String] =
        ["README.md"]
        + files(under: root.appending(path: "Sources"), named: ".md")
        .map { String($0.standardizedFileURL.path.dropFirst(root.standardizedFileURL.path.count + 1)) }
        .sorted()

    /// The pages that are read as files.
    static let pages =
        [
            "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "Tests/README.md",
            "Benchmarks/README.md",
        ]
        + files(under: root.appending(path: "Documentation"), named: ".md").map {
            "Documentation/\($0.lastPathComponent)"
        }

    @Test("Documents: every Swift example occurs in the tests", arguments: documents)
    func examplesAreTested(document: String) throws {
        for example in try Self.examples(in: document) {
            let isTested = Self.tested.contains(example.filter { !$0.isWhitespace })
            #expect(isTested, "\(document): not in the tests: \(example)")
        }
    }

    @Test("Documents: what a document links to exists", arguments: pages)
    func links(page: String) throws {
        let folder = Self.root.appending(path: page).deletingLastPathComponent()
        for match in try Self.text(of: page).matches(of: #/\]\(([^():#]+)(#[^)]*)?\)/#) {
            let target = folder.appending(path: String(match.output.1)).standardizedFileURL
            #expect(FileManager.default.fileExists(atPath: target.path), "\(page): \(match.output.1)")
        }
    }

    @Test("Documents: the programs to read are short", arguments: ["linkcheck", "ingest", "search"])
    func shortPrograms(name: String) throws {
        let texts = try Self.files(under: Self.root.appending(path: "Examples/\(name)"), named: ".swift")
            .map { try String(contentsOf: $0, encoding: .utf8) }
        #expect((1..<200).contains(texts.joined().count { $0.isNewline }))
    }

    @Test("Documents: the examples are found")
    func examplesAreFound() throws {
        #expect(try Self.examples(in: "README.md").count >= 6)
        #expect(Self.documents.count >= 14)
        #expect(try Self.documents.flatMap(Self.examples).count >= 60)
    }

    private static func text(of document: String) throws -> String {
        try String(contentsOf: root.appending(path: document), encoding: .utf8)
    }

    private static func examples(in document: String) throws -> [String] {
        try text(of: document).components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "\n```")[0] }
    }
}
