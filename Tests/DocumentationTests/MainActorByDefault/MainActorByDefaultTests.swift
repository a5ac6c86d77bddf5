import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

/// The article MainActorByDefault.md. This target is compiled with `-default-isolation MainActor`.
@Suite struct MainActorByDefaultTests {
    private let queue = OperationQueue()

    @Test func showsTitles() async {
        let model = ArticlesModel()
        model.appear(with: .resolved([Article(title: "news")]))
        await drainMainActor()
        #expect(model.titles == ["NEWS"])
    }

    @Test(
        "Main actor by default: a view model loads a file with a data source of its own, a closure, and over HTTP"
    )
    func sources() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "articles-\(UUID()).json")
        try Data(#"[{"title": "news"}]"#.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try LoopbackServer()
        defer { server.stop() }
        server.route("/articles", .text(#"[{"title": "news"}]"#))
        let address = try #require(URL(string: server.url("/articles")))

        let model = ArticlesModel()
        model.appear(with: ArticleFile(file).request(on: queue))
        let articles = queue.deferred {
            try JSONDecoder().decode([Article].self, from: Data(contentsOf: file))
        }
        #expect(try await articles.value.first?.title == "news")
        let loaded: Deferred<[Article]> = JSONDataSource(address).request(on: queue)
        #expect(try await loaded.value.first?.title == "news")
        while model.titles.isEmpty, model.message == nil { await Task.yield() }
        #expect(model.titles == ["NEWS"])
    }

    @Test("Main actor by default: a failure reaches the model, a cancellation the request")
    func failing() async throws {
        let (model, other) = (ArticlesModel(), ArticlesModel())
        model.appear(with: .rejected(DeferredError.timedOut))
        let request = Deferred<[Article]>()
        other.appear(with: request)
        other.disappear()
        await drainMainActor()
        #expect(model.message?.contains("time") == true)
        #expect(other.message == "\(CancellationError())")
        #expect(throws: CancellationError.self) { try request.currentResult?.get() }
    }
}
