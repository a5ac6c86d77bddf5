import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

/// A task-local value, as a server has one for each request.
enum Request {
    @TaskLocal static var name = "none"
}

@Suite(.watchdog) struct TaskLocalsTests: Article {
    let eventLog = SharedLog<String>()

    @Test("Task-locals: a plain callback sees those of the code that completes the Deferred")
    func completing() {
        let page = Deferred<String>()
        Request.$name.withValue("attaching") {
            page.done { _ in print(Request.name) }
            let name = Request.name
            page.done { _ in print("captured: \(name)") }
        }
        Request.$name.withValue("completing") {
            _ = page.resolve("text")
        }
        #expect(eventLog.all == ["completing", "captured: attaching"])
    }

    @Test("Task-locals: attached to a settled Deferred, to a queue, to the main actor")
    func settled() async throws {
        let text = Deferred.resolved("text")
        let callbacks = Request.$name.withValue("attaching") {
            [
                text.done { _ in print("at once: \(Request.name)") },
                text.done(on: DispatchQueue(label: "queue")) { _ in print("queue: \(Request.name)") },
                text.done(on: MainActor.self) { _ in print("main actor: \(Request.name)") },
            ]
        }
        _ = try await DeferredList(callbacks).values().value
        #expect(
            eventLog.all.sorted()
                == ["at once: attaching", "main actor: attaching", "queue: none"])
    }

    @Test(
        "Task-locals: an operation sees those of the code that creates it, an async callback those of its call"
    )
    func asynchronous() async throws {
        let text = Deferred<String>()
        let (created, name) = Request.$name.withValue("creating") {
            (
                Deferred { try await Request.name.shouted() },
                text.asyncMap { _ in try await Request.name.shouted() }
            )
        }
        Request.$name.withValue("completing") { _ = text.resolve("text") }
        #expect(try await created.value == "CREATING")
        #expect(try await name.value == "CREATING")
    }

    @Test("Task-locals: the first attempt of a retry sees the caller's, later ones those of the dispatcher")
    func retry() throws {
        let clock = ManualClock()
        let page = Request.$name.withValue("calling") {
            Deferred<Int>.retry(attempts: 2, delay: .constant(.seconds(1)), timer: clock) {
                print(Request.name)
                return .rejected(Refused())
            }
        }
        clock.advance(by: .seconds(1))
        #expect(try failureResult(of: page) is Refused)
        #expect(eventLog.all == ["calling", "none"])
    }
}
