import Deferred
import DeferredTesting
import Synchronization
import Testing

@testable import search

@MainActor
@Suite struct SearchModelTests {
    /// Answers when a test says so.
    private final class Server: Sendable {
        struct Busy: Error {}
        private let asked = Mutex<[(text: String, answer: Deferred<[String]>.Resolver)]>([])

        func find(_ text: String) -> Deferred<[String]> {
            let (answer, resolver) = Deferred<[String]>.withResolver()
            asked.withLock { $0.append((text, resolver)) }
            return answer
        }

        var texts: [String] { asked.withLock { $0.map(\.text) } }
        var answers: [Deferred<[String]>.Resolver] { asked.withLock { $0.map(\.answer) } }
    }

    private let clock = ManualClock()
    private let server = Server()
    private let model: SearchModel

    init() {
        model = SearchModel(timer: clock, find: server.find)
    }

    @Test("Search: one search after a pause in typing, and its results")
    func typing() async {
        for text in ["s", "sw", "swift"] {
            model.text = text
            clock.advance(by: .milliseconds(200))
        }
        #expect(server.texts.isEmpty && model.isSearching)
        clock.advance(by: .milliseconds(100))
        #expect(server.texts == ["swift"])

        server.answers[0].resolve(["Swift", "swiftly"])
        await drainMainActor()
        #expect(model.results == ["Swift", "swiftly"] && !model.isSearching)
    }

    @Test("Search: a new text cancels the search before, and its results are not shown")
    func replaced() async {
        model.text = "s"
        clock.advance(by: .milliseconds(300))
        server.answers[0].resolve(["stale"])  // on its way to the main actor
        model.text = "sw"
        await drainMainActor()
        #expect(model.results.isEmpty && model.isSearching)

        clock.advance(by: .milliseconds(300))
        model.text = "swi"
        #expect(server.answers[1].isCancelled)
        clock.advance(by: .milliseconds(300))
        server.answers[2].resolve(["swift"])
        await drainMainActor()
        #expect(model.results == ["swift"])
    }

    @Test("Search: a failed search is made again, once")
    func failing() async {
        model.text = "swift"
        clock.advance(by: .milliseconds(300))
        server.answers[0].reject(Server.Busy())
        clock.advance()
        #expect(server.texts == ["swift", "swift"])
        server.answers[1].reject(Server.Busy())
        await drainMainActor()
        #expect(model.message == "Busy()" && !model.isSearching)
    }

    @Test("Search: a server that does not answer")
    func silent() async {
        model.text = "swift"
        clock.advanceUntilIdle()
        await drainMainActor()
        #expect(server.answers.map(\.isCancelled) == [true, true])
        #expect(model.message == "The server does not answer.")
    }

    @Test("Search: an empty field shows nothing, and cancels")
    func emptied() async {
        model.text = "swift"
        clock.advance(by: .milliseconds(300))
        model.text = ""
        await drainMainActor()
        #expect(server.answers[0].isCancelled)
        #expect(model.results.isEmpty && model.message == nil && !model.isSearching)
    }

    @Test("Search: the search is cancelled with the model")
    func released() {
        var model: SearchModel? = SearchModel(timer: clock, find: server.find)
        model?.text = "swift"
        clock.advance(by: .milliseconds(300))
        model = nil
        #expect(server.answers[0].isCancelled)
    }
}
