import Deferred
import DeferredTesting
import TestSupport
import Testing

/// Repeated work and workers whose closures are isolated to the main actor. `Tests/MainActorTests` has the other forms.
@Suite("Work on the main actor", .timeLimit(.minutes(5)))
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
}
