import Deferred
import DeferredTesting
import Dispatch
import Testing

@Suite struct ThreadsAndDispatchersTests {
    let journal = Journal()

    @Test("Threads: without a dispatcher, at once")
    func atOnce() {
        let print: @Sendable (String) -> Void = journal.write
        let answer = Deferred<Int>()
        answer.then { print("got \($0)") }
        print("before")
        answer.resolve(42)
        print("after")
        // before, got 42, after
        #expect(journal.all == ["before", "got 42", "after"])
    }

    @Test("Threads: on queues")
    func queues() async throws {
        let (shown, resolver) = Deferred<Int>.withResolver()
        @Sendable func show(_ count: Int) {
            dispatchPrecondition(condition: .onQueue(.main))
            resolver.resolve(count)
        }
        func fetchPage() -> Deferred<String> { .resolved("text") }
        fetchPage()
            .then(on: .global()) { page in page.count }
            .then(on: .main) { count in show(count) }
        #expect(try await shown.value == 4)
    }

    /// Runs at once what it is given.
    final class EventLoop: Sendable {
        func execute(_ work: () -> Void) { work() }
    }

    struct EventLoopDispatcher: Dispatcher {
        let loop: EventLoop
        func dispatch(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }
    }

    @Test("Threads: a dispatcher of one's own")
    func own() throws {
        let length = Deferred.resolved("text").then(on: EventLoopDispatcher(loop: EventLoop())) { $0.count }
        #expect(try successResult(of: length) == 4)
    }

    @MainActor final class PageModel {
        var text = ""

        func load(_ page: Deferred<String>) -> Deferred<Void> {
            page
                .then(on: MainActor.self) { self.text = $0 }
                .fail(on: MainActor.self) { self.text = "\($0)" }
        }
    }

    @Test("Threads: on the main actor")
    @MainActor func mainActor() async throws {
        let model = PageModel()
        try await model.load(.resolved("text")).value
        #expect(model.text == "text")
        try await model.load(.rejected(Refused())).value
        #expect(model.text == "refused")
    }

    @Test("Threads: a pause holds back what is attached")
    func pause() {
        let page = Deferred<String>()
        page.then(journal.write)
        page.pause()
        page.resolve("text")  // nobody is told yet
        page.unpause()  // the callbacks run here, before it returns
        #expect(journal.all == ["text"])
    }
}
