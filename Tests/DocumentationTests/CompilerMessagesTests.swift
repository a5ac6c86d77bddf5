import CompilerProcess
import Foundation
import Testing

/// Checks that the articles quote what the compiler says: each quoted message is one that it reports about the
/// program that the article speaks of.
@Suite struct CompilerMessagesTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        let article: String
        let message: String
        var flags: [String] = []
        let source: String

        var testDescription: String { "\(article): \(message)" }
    }

    private static let isolated = ["-default-isolation", "MainActor"]

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
            article: "LongChains", message: "requires that 'Int' conform to 'DeferredConvertible'",
            source: """
                import Deferred
                func length(_ page: Deferred<String>) -> Deferred<Int> { page.then { $0.count } }
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
    ]

    @Test("Documents: the articles quote the compiler's messages", arguments: mistakes)
    func message(of mistake: Mistake) async throws {
        let complaints = try await Compiler().complaints(about: mistake.source, flags: mistake.flags)
        #expect(complaints.contains { $0.message.contains(mistake.message) }, "\(complaints)")
        let article = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appending(path: "Sources/Deferred/Deferred.docc/\(mistake.article).md")
        let words = try String(contentsOf: article, encoding: .utf8).split(whereSeparator: \.isWhitespace)
        #expect(words.joined(separator: " ").contains(mistake.message), "not quoted")
    }
}
