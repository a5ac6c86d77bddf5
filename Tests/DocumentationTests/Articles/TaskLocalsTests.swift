import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

/// A task-local value, as a server has one for each request.
enum Request {
    @TaskLocal static var name = "none"
}

@Suite struct TaskLocalsTests {
    let eventLog = SharedLog<String>()

    @Test("Task-locals: a plain callback sees those of the code that completes the Deferred")
    func completing() {
        let page = Deferred<String>()
        let print: @Sendable (String) -> Void = eventLog.add
        Request.$name.withValue("attaching") {
            page.done { _ in print(Request.name) }
        }
        Request.$name.withValue("completing") {
            _ = page.resolve("text")
        }
        #expect(eventLog.all == ["completing"])
    }

    @Test("Task-locals: a callback attached to a settled Deferred sees those of the code that attaches")
    func attaching() {
        let print: @Sendable (String) -> Void = eventLog.add
        Request.$name.withValue("attaching") {
            _ = Deferred.resolved("text").done { _ in print(Request.name) }
        }
        #expect(eventLog.all == ["attaching"])
    }

    @Test("Task-locals: on a DispatchQueue there are none")
    func queue() async throws {
        let print: @Sendable (String) -> Void = eventLog.add
        let queue = DispatchQueue(label: "queue")
        try await Request.$name.withValue("completing") {
            Deferred.resolved("text").done(on: queue) { _ in print(Request.name) }
        }.value
        #expect(eventLog.all == ["none"])
    }

    @Test("Task-locals: a callback on the main actor sees those of the code that completes the Deferred")
    func mainActor() async throws {
        let print: @Sendable (String) -> Void = eventLog.add
        try await Request.$name.withValue("completing") {
            Deferred.resolved("text").done(on: MainActor.self) { _ in print(Request.name) }
        }.value
        #expect(eventLog.all == ["completing"])
    }

    @Test("Task-locals: an asynchronous operation sees those of the code that creates the Deferred")
    func operation() async throws {
        let page = Request.$name.withValue("creating") {
            Deferred { try await Request.name.shouted() }
        }
        #expect(try await page.value == "CREATING")
    }

    @Test("Task-locals: an asynchronous callback sees those of the code that completes the Deferred")
    func asyncCallback() async throws {
        let page = Deferred<String>()
        let name = Request.$name.withValue("attaching") {
            page.asyncMap { _ in try await Request.name.shouted() }
        }
        Request.$name.withValue("completing") {
            _ = page.resolve("text")
        }
        #expect(try await name.value == "COMPLETING")
    }

    @Test("Task-locals: the first attempt of a retry sees the caller's, later ones those of the dispatcher")
    func retry() throws {
        let clock = ManualClock()
        let print: @Sendable (String) -> Void = eventLog.add
        let page = Request.$name.withValue("calling") {
            Deferred<Int>.retry(attempts: 2, delay: .constant(.seconds(1)), on: clock) {
                print(Request.name)
                return .rejected(Refused())
            }
        }
        clock.advance(by: .seconds(1))
        #expect(try failureResult(of: page) is Refused)
        #expect(eventLog.all == ["calling", "none"])
    }

    @Test("Task-locals: captured, a value does not depend on who completes the Deferred")
    func captured() {
        let page = Deferred<String>()
        let print: @Sendable (String) -> Void = eventLog.add
        Request.$name.withValue("attaching") {
            let name = Request.name
            page.done { _ in print(name) }
        }
        Request.$name.withValue("completing") {
            _ = page.resolve("text")
        }
        #expect(eventLog.all == ["attaching"])
    }

    private struct CarryingDispatcher: Dispatcher {
        let base: any Dispatcher

        func dispatch(_ work: @escaping @Sendable () -> Void) {
            let name = Request.name
            base.dispatch { Request.$name.withValue(name) { work() } }
        }
    }

    @Test("Task-locals: a dispatcher may carry them over")
    func carrying() async throws {
        let print: @Sendable (String) -> Void = eventLog.add
        let queue = CarryingDispatcher(base: DispatchQueue(label: "queue"))
        try await Request.$name.withValue("completing") {
            Deferred.resolved("text").done(on: queue) { _ in print(Request.name) }
        }.value
        #expect(eventLog.all == ["completing"])
    }
}
