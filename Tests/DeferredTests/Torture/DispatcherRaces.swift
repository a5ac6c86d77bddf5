import Deferred
import Dispatch
import TestSupport
import Testing

/// Chains over queues, and Tasks that await them, cancelled at any time.
@Suite("Torture: dispatchers, awaits and finalizers", .serialized, .ownThreads)
struct DispatcherRaces {
    @Test("F4, C5: a chain over several queues ends once, whenever it is cancelled")
    func queues() {
        struct State: Sendable {
            let source: Deferred<Int>
            let end: Deferred<Int>
            let received: AtomicCounter
            let done: DispatchSemaphore
        }
        let tracker = LeakTracker()
        let queues = (0..<3).map { DispatchQueue(label: "torture \($0)") }
        Race(rounds: Torture.rounds / 2) { () -> State in
            let received = AtomicCounter()
            let done = DispatchSemaphore(value: 0)
            let source = Deferred<Int>()
            var end = source
            for index in 0..<6 {
                let tracked = tracker.begin()
                end = end.map(on: queues[index % 3]) {
                    tracked.use()
                    return $0 + 1
                }
            }
            let last = end.mapResult { result -> Int in
                received.add()
                if case .success(let value) = result { #expect(value == 7) }
                done.signal()
                return 0
            }
            return State(source: source, end: last, received: received, done: done)
        }.racing(
            { $0.source.resolve(1) }, { $0.end.cancel() }
        ).check { state in
            state.done.wait()
            #expect(state.received.value == 1)
        }
        for queue in queues { queue.sync {} }
        #expect(tracker.alive == 0)
    }

    @Test(
        "C6: Tasks that await one Deferred, some of them cancelled, all end, with its value or a CancellationError"
    )
    func awaits() async {
        let tracker = LeakTracker()
        for round in 0..<(Torture.rounds / 4) {
            let tracked = tracker.begin()
            let (deferred, resolver) = Deferred<Int>.withResolver { _ in tracked.use() }
            let position = deferred.map { value -> Int in
                tracked.use()
                return value
            }
            // Otherwise those cancelled before the others have begun to wait would be the last consumers
            // (C3).
            for consumed in [deferred, position] { consumed.both { _ in } }
            let tasks = (0..<6).map { index in
                Task { try await index % 2 == 0 ? position.value : deferred.value }
            }
            if round % 3 == 0 { await Task.yield() }
            async let fired = Task.detached { resolver.resolve(1) }.value
            for (index, task) in tasks.enumerated() where index % 3 == round % 3 { task.cancel() }
            _ = await fired
            for (index, task) in tasks.enumerated() {
                switch await task.result {
                case .success(let value): #expect(value == 1)
                case .failure(let error):
                    #expect(error is CancellationError)
                    #expect(index % 3 == round % 3)
                }
            }
        }
        #expect(tracker.alive == 0)
    }

    @Test(
        "C3, C6: when all Tasks that await are cancelled, the source is, and each await throws CancellationError"
    )
    func allAwaitsCancelled() async {
        for _ in 0..<(Torture.rounds / 4) {
            let cancels = AtomicCounter()
            let (deferred, resolver) = Deferred<Int>.withResolver { _ in cancels.add() }
            let tasks = (0..<4).map { _ in Task { try await deferred.value } }
            for task in tasks { task.cancel() }
            for task in tasks {
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            // Each of them was the only consumer, if those before it were detached; the source was then cancelled by the
            // first.
            #expect(cancels.value <= 1)
            #expect(!resolver.resolve(1) || cancels.value == 0)
        }
    }

    @Test(
        "Z1: a finalizer runs once, after the callbacks attached before the completion, whichever threads complete and cancel"
    )
    func finalizers() {
        let tracker = LeakTracker()
        finalizing(tracker).racing(
            { $0.source.resolve(1) }, { $0.position.cancel() },
            { state in
                let notes = state.notes
                for _ in 0..<5 { state.position.finally { _ in notes.add(0) } }
            }
        ).check { state in
            let notes = state.notes.all
            #expect(notes.filter { $0 != 0 } == [1, 2, 3])
            #expect(notes.count { $0 == 0 } == 5)
        }
        #expect(tracker.alive == 0)
    }

    private struct Finalizing: Sendable {
        let source: Deferred<Int>
        let position: Deferred<Int>
        let notes: SharedLog<Int>
    }

    /// A source and a position after it, each with a finalizer; 1 is the callback of the position, 2 and 3
    /// are finalizers.
    private func finalizing(_ tracker: LeakTracker) -> Race<Finalizing> {
        Race {
            let notes = SharedLog<Int>()
            let tracked = tracker.begin()
            let source = Deferred<Int>(canceller: { _ in tracked.use() })
            source.finally { _ in
                tracked.use()
                notes.add(3)
            }
            let position = source.then { value in Deferred<Int>.resolved(value) }
            position.both { _ in notes.add(1) }
            position.finally { _ in notes.add(2) }
            return Finalizing(source: source, position: position, notes: notes)
        }
    }
}
