import CompilerProcess
import Foundation
import Testing

/// Checks that the articles quote what the compiler says: each quoted message is one that it reports about the
/// program that the article speaks of, at the line that ends in `// here`, if one does.
@Suite struct CompilerMessagesTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        let article: String
        let message: String
        var flags: [String] = []
        let source: String

        var testDescription: String { "\(article): \(message)" }
    }

    private static let isolated = ["-default-isolation", "MainActor"]

    /// A mistake in a chain, which the table in LongChains.md shows and explains.
    private static func inChain(_ message: String, _ source: String) -> Mistake {
        let declarations = """
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
                func use() async throws {

            """
        return Mistake(article: "LongChains", message: message, source: declarations + source + "\n}}")
    }

    static let chains = [
        inChain("value of type 'User' has no member 'nme'", "_ = user(1).map { $0.nme }  // here"),
        inChain(
            "call can throw, but it is not marked with 'try' and the error is not handled",
            "_ = user(1).map { parse($0.name) }  // here"),
        inChain(
            "requires that 'String' conform to 'DeferredConvertible'",
            "_ = user(1).then { $0.name.uppercased() }  // here"),
        inChain(
            "generic parameter 'E' could not be inferred", "_ = user(1).then { $0.friends.count }  // here"),
        inChain(
            "type '()' cannot conform to 'DeferredConvertible'",
            "_ = user(1).orElse { _ in throw Failed() }  // here"),
        inChain(
            "type '()' cannot conform to 'DeferredConvertible'",
            """
            _ = user(1).then { [weak self] user in  // here
                guard let self else { return }
                return self.save(user)
            }
            """),
        inChain(
            "cannot convert value of type 'Deferred<Int>?' to closure result type 'Deferred<Int>'",
            "_ = user(1).then { [weak self] user in self?.save(user) }  // here"),
        inChain(
            "contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored",
            "user(1).always { print() }  // here"),
        inChain(
            "cannot convert value of type 'Deferred<Int>' to expected argument type 'Int'",
            """
            let page = Deferred { number() }
            page.done { print($0 + 1) }  // here
            """),
        inChain(
            "value of type 'Deferred<Int>' has no member 'magnitude'",
            "_ = user(1).map { self.save($0) }.map { $0.magnitude }  // here"),
        inChain("expression of type 'Int' is unused", "user(1).done { $0.name.count }  // here"),
        inChain(
            "result of call to 'map(on:_:fileID:line:)' is unused", "user(1).map { $0.name }  // here"),
        inChain(
            "cannot pass function of type '@Sendable (User) async throws -> Int'",
            "_ = user(1).map { _ in try await load() }  // here"),
        inChain(
            "cannot convert value of type 'String' to closure result type 'Int'",
            "let _: Deferred<Int> = user(1).map { $0.name.count }.recover { _ in \"none\" }  // here"),
        inChain(
            "main actor-isolated property 'text' can not be mutated from a Sendable closure",
            """
            let screen = await Screen()
            user(1).done { screen.text = $0.name }  // here
            """),
        inChain(
            "capture of 'box' with non-Sendable type 'Box' in a '@Sendable' closure",
            """
            let box = Box()
            user(1).done { box.count += $0.name.count }  // here
            """),
    ]

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
    ]

    @Test("Documents: the articles quote the compiler's messages", arguments: mistakes + chains)
    func message(of mistake: Mistake) async throws {
        let lines = mistake.source.split(separator: "\n", omittingEmptySubsequences: false)
        let here = lines.firstIndex { $0.hasSuffix("// here") }
        let complaints = try await Compiler().complaints(about: mistake.source, flags: mistake.flags)
        let isReported = complaints.contains { complaint in
            complaint.message.contains(mistake.message) && here.map { complaint.line == $0 + 1 } ?? true
        }
        #expect(isReported, "\(complaints)")

        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let article = try String(
            contentsOf: root.appending(path: "Sources/Deferred/Deferred.docc/\(mistake.article).md"),
            encoding: .utf8)
        #expect(
            article.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains(mistake.message))
        if let here, let chain = lines[here].firstRange(of: "user(1)") ?? lines[here].firstRange(of: "page") {
            let code = lines[here][chain.upperBound...].dropLast("  // here".count)
            #expect(article.contains(code), "the table does not show it")
        }
    }
}
