import Deferred
import DeferredTesting
import Foundation
import TestSupport
import Testing

/// Repeated work and workers whose closures are isolated to the main actor. `Tests/MainActorTests` has the other forms.
@Suite("Work on the main actor", .watchdog)
@MainActor struct MainActorWorkTests {
    @MainActor final class Model {
        var runs: [String] = []
    }

    let model = Model()
    let clock = ManualClock()

    @Test("repeating: each run is on the main actor, the first not before the call returns")
    func repeating() async {
        let work = Deferred.repeating(every: .seconds(1), on: MainActor.self, timer: clock) {
            model.runs.append("run")
        }
        #expect(model.runs.isEmpty)
        await drainMainActor()
        #expect(model.runs.count == 1)
        clock.advance(by: .seconds(1))
        #expect(model.runs.count == 1)
        await drainMainActor()
        #expect(model.runs.count == 2)
        work.cancel()
        clock.advance(by: .seconds(5))
        await drainMainActor()
        #expect(model.runs.count == 2)
    }

    @Test("RepeatingWork: stop on the main actor prevents a run that was submitted and has not begun")
    func stop() async throws {
        let work = RepeatingWork(every: .seconds(1), on: MainActor.self, timer: clock) {
            model.runs.append("run")
        }
        await drainMainActor()
        clock.advance(by: .seconds(1))
        let stopped = work.stop()
        await drainMainActor()
        #expect(model.runs.count == 1)
        try successResult(of: stopped)
    }

    @Test("Q2: an element on its way to a worker on the main actor returns to the queue if that is cancelled")
    func cancelledWorker() async throws {
        let queue = DeferredQueue<Int>()
        let worker = queue.run(on: MainActor.self) { model.runs.append("\($0)") }
        try queue.put(1)
        worker.cancel()
        await drainMainActor()
        #expect(model.runs.isEmpty)
        #expect(queue.tryGet() == 1)
    }

    @Test("Q2, Q3: after finish, calls and workers wait for an element that may return, and one receives it")
    func returnedAfterFinish() async throws {
        let queue = DeferredQueue<Int>()
        let worker = queue.run(on: MainActor.self) { model.runs.append("\($0)") }
        try queue.put(1)
        let other = queue.run(on: MainActor.self) { model.runs.append("other \($0)") }
        queue.finish()
        let got = queue.get()
        try expectNoResult(got)
        try expectNoResult(other)
        worker.cancel()
        await drainMainActor()
        #expect(model.runs == ["other 1"])
        #expect(try failureResult(of: got) as? DeferredError == .finished)
        try successResult(of: other)
    }

    @Test("retry: every attempt is on the main actor, the first not before the call returns")
    func retry() async {
        let numbered = Deferred.retry(attempts: 3, delay: .none, on: MainActor.self, timer: clock) {
            attempt in
            model.runs.append("\(attempt)")
            return attempt < 3 ? .rejected(Rules.Boom(attempt)) : .resolved(attempt)
        }
        #expect(model.runs.isEmpty)
        for _ in 1...3 {
            await drainMainActor()
            clock.advance(by: .zero)
        }
        #expect(model.runs == ["1", "2", "3"])
        #expect(Rules.outcome(numbered) == "3")
        let failed = Deferred<Int>.retry(attempts: 1, on: MainActor.self, timer: clock) {
            model.runs.append("plain")
            throw Rules.Boom(4)
        }
        await drainMainActor()
        #expect(Rules.outcome(failed) == "Boom(4)")
        #expect(model.runs.last == "plain")
    }

    @Test("C5: a cancelled retry makes no attempt that waits for the main actor")
    func cancelledRetry() async {
        let page = Deferred.retry(on: MainActor.self, timer: clock) {
            model.runs.append("attempt")
            return Deferred.resolved(1)
        }
        page.cancel()
        await drainMainActor()
        #expect(model.runs.isEmpty)
        #expect(Rules.outcome(page) == "cancelled")
    }

    @Test(
        "locks and semaphores keep the permit until the body on the main actor, and what it returned, has ended"
    )
    func permits() async {
        let semaphore = DeferredSemaphore(1)
        let work = Deferred<Int>()
        let first = semaphore.run(on: MainActor.self) {
            model.runs.append("first")
            return work
        }
        let second = semaphore.syncRun(on: MainActor.self) { model.runs.append("second") }
        await drainMainActor()
        #expect(model.runs == ["first"])
        #expect(semaphore.availableCount == 0 && semaphore.waitingCount == 1)
        work.resolve(1)
        #expect(semaphore.availableCount == 0)
        await drainMainActor()
        #expect(model.runs == ["first", "second"])
        #expect(semaphore.availableCount == 1)
        #expect(Rules.outcome(first) == "1" && second.isSettled)
        let lock = DeferredLock()
        lock.run(on: MainActor.self) { Deferred.resolved(model.runs.append("third")) }
        lock.syncRun(on: MainActor.self) { model.runs.append("fourth") }
        #expect(lock.isLocked)
        await drainMainActor()
        #expect(model.runs == ["first", "second", "third", "fourth"])
        #expect(!lock.isLocked)
    }

    @Test(
        "Q1: a body that is cancelled while it waits for the main actor does not run, and its permit is released"
    )
    func cancelledPermit() async {
        let semaphore = DeferredSemaphore(1)
        let work = semaphore.syncRun(on: MainActor.self) { model.runs.append("run") }
        let next = semaphore.syncRun { 1 }
        work.cancel()
        await drainMainActor()
        #expect(model.runs.isEmpty)
        #expect(Rules.outcome(work) == "cancelled")
        #expect(Rules.outcome(next) == "1")
    }

    @Test("file locks run their bodies there")
    func fileLock() async throws {
        let path = "\(FileManager.default.temporaryDirectory.path)/main-actor-\(UUID()).lock"
        let lock = DeferredFilesystemLock(path: path, timer: clock)
        let first = lock.run(on: MainActor.self) { Deferred.resolved(model.runs.append("first")) }
        let second = lock.syncRun(timeout: .seconds(1), on: MainActor.self) { model.runs.append("second") }
        #expect(model.runs.isEmpty)
        await drainMainActor()
        #expect(model.runs == ["first", "second"])
        try successResult(of: first)
        try successResult(of: second)
    }

    @Test(
        "Q6: a call of DeferredLatest that is replaced before the main actor has begun its body does not run")
    func latest() async {
        let latest = DeferredLatest()
        let first = latest.syncRun(on: MainActor.self) { model.runs.append("first") }
        let second = latest.run(on: MainActor.self) { Deferred.resolved(model.runs.append("second")) }
        await drainMainActor()
        #expect(model.runs == ["second"])
        #expect(Rules.outcome(first) == "cancelled")
        #expect(Rules.outcome(second) == "()")
        let debounced = DeferredLatest(debounce: .seconds(1), timer: clock)
        debounced.syncRun(on: MainActor.self) { model.runs.append("third") }
        clock.advance(by: .seconds(1))
        #expect(model.runs == ["second"])
        await drainMainActor()
        #expect(model.runs == ["second", "third"])
    }

    @Test("timeout: the closure runs on the main actor, and decides")
    func timeout() async {
        let never = Deferred<Int>.never()
        let plain = never.timeout(.seconds(1), on: MainActor.self, timer: clock) {
            model.runs.append("plain")
            return 1
        }
        let answered = Deferred<Int>(canceller: { $0.resolve(5) })
        let outcome = answered.timeout(.seconds(1), on: MainActor.self, timer: clock) { result in
            model.runs.append(Rules.outcome(result))
            throw Rules.Boom(2)
        }
        let deadline = Deadline(after: .seconds(1), timer: clock)
        let until = Deferred<Int>.never().timeout(until: deadline, on: MainActor.self) {
            model.runs.append("until")
            return 3
        }
        clock.advance(by: .seconds(1))
        #expect(model.runs.isEmpty)
        await drainMainActor()
        #expect(model.runs.sorted() == ["5", "plain", "until"])
        #expect([plain, outcome, until].map { Rules.outcome($0) } == ["1", "Boom(2)", "3"])
        let inTime = Deferred.resolved(4).timeout(.seconds(1), on: MainActor.self, timer: clock) { 0 }
        #expect(Rules.outcome(inTime) == "4")
    }
}
