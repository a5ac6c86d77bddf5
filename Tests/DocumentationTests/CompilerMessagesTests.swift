import CompilerProcess
import Foundation
import TestSupport
import Testing

/// Checks that the articles quote what the compiler says: each quoted message is one that it reports about the
/// program that the article speaks of.
@Suite(.watchdog(atOnce: .few)) struct CompilerMessagesTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        let article: String
        let message: String
        var flags: [String] = []
        let source: String

        var testDescription: String { "\(article): \(message)" }
    }

    private static let isolated = ["-default-isolation", "MainActor"]

    /// What the mistakes in the table of LongChains.md are made with. Those that begin with a dot are made with `user`.
    private static let declarations = """
        import Deferred
        struct User: Sendable { let name: String, friends: [String] }
        struct Failed: Error {}
        func parse(_ text: String) throws -> Int { text.count }
        func load() async throws -> Int { 1 }
        func number() -> Deferred<Int> { Deferred() }
        @MainActor final class Screen { var text = "" }
        final class Box { var count = 0 }
        final class Model: Sendable {
            func save(_ user: User) -> Deferred<Int> { Deferred() }
            func use(_ user: Deferred<User>, _ users: [Deferred<User>], _ screen: Screen, _ box: Box) {

        """

    static let mistakes = [
        Mistake(
            article: "NonSendableValues",
            message: "type 'Parser' does not conform to the 'Sendable' protocol",
            source: """
                import Deferred
                final class Parser { var lines: [String] = [] }
                func parser() -> Deferred<Parser> { Deferred() }
                """),
        Mistake(
            article: "MainActorByDefault",
            message: "main actor-isolated property 'titles' can not be mutated from a Sendable closure",
            flags: isolated,
            source: """
                import Deferred
                final class Model {
                    var titles: [String] = []
                    func appear(with articles: Deferred<[String]>) {
                        articles.done { self.titles = $0 }
                    }
                }
                """),
        Mistake(
            article: "MainActorByDefault",
            message: """
                converting function value of type '@MainActor (Article) -> String' to '(Article) -> String' loses \
                global actor 'MainActor'
                """, flags: isolated,
            source: """
                import Deferred
                nonisolated struct Article { let title: String }
                func headline(_ article: Article) -> String { article.title }
                func headlines(_ articles: Deferred<[Article]>) -> Deferred<[String]> {
                    articles.map { articles in articles.map(headline) }
                }
                """),
        Mistake(
            article: "MainActorByDefault",
            message: """
                main actor-isolated conformance of 'Article' to 'Decodable' cannot satisfy conformance requirement \
                for a 'Sendable' type parameter
                """, flags: isolated,
            source: """
                import Deferred
                import DeferredOperations
                import Foundation
                struct Article: Decodable, Sendable { let title: String }
                func article(_ address: URL, _ queue: OperationQueue) -> Deferred<Article> {
                    JSONDataSource<Article>(address).request(on: queue)
                }
                """),
        Mistake(
            article: "MainActorByDefault",
            message: """
                main actor-isolated instance method 'load()' has different actor isolation from nonisolated \
                overridden declaration
                """, flags: isolated,
            source: """
                import DeferredOperations
                final class Numbers: DataSource<Int> {
                    override func load() throws -> Int { 1 }
                }
                """),
        Mistake(
            article: "OneEventManyListeners",
            message: """
                call to main actor-isolated instance method 'show' in a synchronous nonisolated context
                """,
            source: """
                import Multicast
                @MainActor final class Window { func show(_ line: String) {} }
                @MainActor func listen(_ window: Window) {
                    BroadcastChannel<String>().listen(window) { window, line in window.show(line) }
                }
                """),
    ]

    /// The text of an article, with single spaces.
    private func text(of article: String) throws -> String {
        let file = Package.files(under: "Sources", named: "\(article).md").first {
            $0.lastPathComponent == "\(article).md"
        }
        return try String(contentsOf: #require(file), encoding: .utf8)
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test("Documents: the articles quote the compiler's messages", arguments: mistakes)
    func message(of mistake: Mistake) async throws {
        let complaints = try await Compiler().complaints(about: mistake.source, flags: mistake.flags)
        #expect(complaints.contains { $0.message.contains(mistake.message) }, "\(complaints)")
        #expect(try text(of: mistake.article).contains(mistake.message))
    }

    @Test("Documents: the table of mistakes in chains has what the compiler says, at the line of the mistake")
    func mistakesInChains() async throws {
        let rows = try Package.text(of: "Sources/Deferred/Deferred.docc/LongChains.md").split(separator: "\n")
            .drop { !$0.hasPrefix("| mistake |") }.filter { $0.hasPrefix("| `") }
        #expect(rows.count == 18)
        let lines = rows.map { row in
            let cells = row.split(separator: "|").map { cell in
                cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                    .filter { $0.offset % 2 == 1 }.map(\.element).joined(separator: "; ")
            }
            return "\(cells[0].hasPrefix(".") ? "user" : "")\(cells[0])  // \(cells[1])"
        }
        let source = Self.declarations + lines.joined(separator: "\n") + "\n}\n}\n"
        let surprises = try await Compiler().surprises(in: source)
        #expect(surprises.isEmpty, "\(surprises)")
    }
}
