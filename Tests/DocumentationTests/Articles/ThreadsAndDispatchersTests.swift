import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@Suite struct ThreadsAndDispatchersTests: Article {
    let eventLog = SharedLog<String>()

    @Test("Threads: without a dispatcher, at once")
    func atOnce() {
        let answer = Deferred<Int>()
        answer.done { print("got \($0)") }
        print("before")
        answer.resolve(42)
        print("after")
        // before, got 42, after
        #expect(eventLog.all == ["before", "got 42", "after"])
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
            .map(on: .global()) { page in page.count }
            .done(on: .main) { count in show(count) }
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

    @Test("Threads: a chain that begins on a queue")
    func beginsOnQueue() async throws {
        let file = "one two three"
        @Sendable func countWords(in text: String) throws -> Int { text.split(separator: " ").count }
        let count = DispatchQueue.global().deferred { try countWords(in: file) }
        #expect(try await count.value == 3)
    }

    @Test("Threads: a dispatcher of one's own")
    func own() throws {
        let length = Deferred.resolved("text").map(on: EventLoopDispatcher(loop: EventLoop())) { $0.count }
        #expect(try successResult(of: length) == 4)
    }

    @MainActor final class PageModel {
        var text = ""

        func load(_ page: Deferred<String>) -> Deferred<Void> {
            page
                .done(on: MainActor.self) { self.text = $0 }
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

    @Test("Threads: a step with a dispatcher waits for it, also where its closure is bypassed")
    func bypassed() throws {
        let (page, queue) = (Deferred.resolved("a page"), ManualDispatcher())
        let text = page.recover(on: queue) { _ in "no page" }  // waits for the queue, also with a page
        try expectNoResult(text)
        queue.run()
        #expect(try successResult(of: text) == "a page")
        #expect(try successResult(of: page.recover { _ in "no page" }) == "a page")
    }

    @Test("Threads: a pause suspends callbacks")
    func pause() {
        let page = Deferred<String>()
        page.done(eventLog.add)
        page.pause()
        page.resolve("text")  // no callback runs yet
        page.unpause()  // the callbacks run here, before it returns
        #expect(eventLog.all == ["text"])
    }

    @Test("Threads: a permit released inside a holder's callback admits the next waiter after that callback")
    func permits() throws {
        let semaphore = DeferredSemaphore(1)
        let eventLog = eventLog
        let permit = try #require(semaphore.tryAcquire())
        semaphore.acquire().done { permit in
            eventLog.add("second begins")
            permit.release()
            eventLog.add("second ends")
        }
        semaphore.acquire().done { _ in eventLog.add("third") }
        permit.release()
        eventLog.add("released")
        #expect(eventLog.all == ["second begins", "second ends", "third", "released"])
    }
}
