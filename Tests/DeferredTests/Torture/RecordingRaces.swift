import Deferred
import DeferredTracing
import Dispatch
import TestSupport
import Testing

/// Recordings that begin, end and are read while chains run on other threads.
@Suite("Torture: recordings", .serialized, .ownThreads)
struct RecordingRaces {
    @Test("T1: recordings that start and stop change nothing, and are consistent")
    func comingAndGoing() throws {
        struct State: Sendable {
            let source: Deferred<Int>
            let other: Deferred<Int>
            let end: Deferred<Int>
            let received: AtomicCounter
        }
        let tracker = LeakTracker()
        let kept = SharedLog<DeferredRecording>()
        let queue = DispatchQueue(label: "torture")
        Race(rounds: Torture.rounds / 4) { () -> State in
            let received = AtomicCounter()
            let tracked = tracker.begin()
            let (source, other) = (Deferred<Int>(), Deferred<Int>())
            let end = source.then { _ in other }.map(on: queue) { value -> Int in
                tracked.use()
                return value
            }.mapResult { _ -> Int in received.add() }
            return State(source: source, other: other, end: end, received: received)
        }.racing(
            { $0.source.resolve(1) },
            { state in
                state.other.resolve(2)
                state.end.cancel()
            },
            { state in
                let recording = DeferredDiagnostics.startRecording(limit: 1000, madeIn: [#fileID])
                state.end.pause()
                Recorded.check(recording.events())
                state.end.unpause()
                recording.stop()
                kept.add(recording)
            },
            { state in
                let recording = DeferredDiagnostics.startRecording(limit: 10, madeIn: [#fileID])
                state.source.done { _ in }
                state.end.finally { _ in }
                _ = recording.mermaidGraph()
            }
        ).check { state in
            _ = try? state.end.wait()
            #expect(state.received.value == 1)
        }
        queue.sync {}
        #expect(tracker.alive == 0)
        for recording in kept.all {
            Recorded.check(recording.events())
        }
        for recording in kept.all.prefix(50) { _ = try Recorded.check(trace: recording.chromeTrace()) }
    }
}
