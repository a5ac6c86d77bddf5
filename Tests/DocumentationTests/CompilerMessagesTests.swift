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

    /// Mistakes in a chain. The comment of a line is what the compiler says about it; the table in LongChains.md has
    /// both.
    private static let chains = """
        import Deferred
        struct User: Sendable { let name: String, friends: [String] }
        struct Failed: Error {}
        func user(_ id: Int) -> Deferred<User> { Deferred() }
        func parse(_ text: String) throws -> Int { text.count }
        func load() async throws -> Int { 1 }
        func number() -> Deferred<Int> { Deferred() }
        @MainActor final class Screen { var text = "" }
        final class Box { var count = 0 }
        final class Model: Sendable {
            func save(_ user: User) -> Deferred<Int> { Deferred() }
            func use(_ screen: Screen, _ box: Box) {
                _ = user(1).map { $0.nme }  // value of type 'User' has no member 'nme'
                _ = user(1).map { parse($0.name) }  // call can throw, but it is not marked with 'try' and the error
                _ = user(1).then { $0.name.uppercased() }  // requires that 'String' conform to 'DeferredConvertible'
                _ = user(1).then { $0.friends.count }  // generic parameter 'E' could not be inferred
                _ = user(1).orElse { _ in throw Failed() }  // type '()' cannot conform to 'DeferredConvertible'
                _ = user(1).then { [weak self] user in  // type '()' cannot conform to 'DeferredConvertible'
                    guard let self else { return }
                    return self.save(user)  // cannot convert value of type
                }
                _ = user(1).then { [weak self] user in self?.save(user) }  // cannot convert value of type
                user(1).always { print() }  // contextual type for closure argument list expects 1 argument
                let page = Deferred { number() }
                page.done { print($0 + 1) }  // cannot convert value of type 'Deferred<Int>' to expected
                _ = user(1).map { self.save($0) }.map { $0.magnitude }  // value of type 'Deferred<Int>' has no member
                user(1).done { $0.name.count }  // expression of type 'Int' is unused
                user(1).map { $0.name }  // result of call to 'map(on:_:fileID:line:)' is unused
                _ = user(1).map { _ in try await load() }  // cannot pass function of type '@Sendable (User) async
                let _: Deferred<Int> = user(1).map { $0.name.count }.recover { _ in "none" }  // cannot convert value
                user(1).done { screen.text = $0.name }  // main actor-isolated property 'text' can not be mutated
                _ = DeferredList([user(1)]).first(3)  // missing argument label 'fileID:' in call
                user(1).done { box.count += $0.name.count }  // capture of 'box' with non-Sendable type 'Box'
            }
        }
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
                    Channel<String>().listen(window) { window, line in window.show(line) }
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
        let surprises = try await Compiler().surprises(in: Self.chains)
        #expect(surprises == [])
        let article = try text(of: "LongChains")
        for line in Self.chains.split(separator: "\n") {
            let parts = line.components(separatedBy: "  // ")
            guard parts.count == 2, let start = parts[0].firstIndex(of: ".") else { continue }
            #expect(article.contains(parts[1]) && article.contains(parts[0][start...]), "\(line)")
        }
    }
}
