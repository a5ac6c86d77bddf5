import Deferred
import Dispatch
import TestThreads
import Testing

/// Recordings that begin, end and are read while chains run on other threads.
@Suite("Torture: recordings", .serialized, .ownThreads)
struct RecordingRaces {
    @Test("T1: recordings that come and go change nothing, and note nothing that does not hang together")
    func comingAndGoing() throws {
        struct State: Sendable {
            let source: Deferred<Int>
            let other: Deferred<Int>
            let end: Deferred<Int>
            let told: Counter
        }
        let census = Census()
        let kept = Chronicle<DeferredRecording>()
        let queue = DispatchQueue(label: "torture")
        Race(rounds: Torture.rounds / 4) { () -> State in
            let told = Counter()
            let member = census.member()
            let (source, other) = (Deferred<Int>(), Deferred<Int>())
            let end = source.then { _ in other }.then(on: queue) { value -> Int in
                member.touch()
                return value
            }.both { _ -> Int in told.add() }
            return State(source: source, other: other, end: end, told: told)
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
                state.source.then { _ in }
                state.end.finally { _ in }
                _ = recording.mermaidGraph()
            }
        ).check { state in
            _ = try? state.end.wait()
            #expect(state.told.value == 1)
        }
        queue.sync {}
        #expect(census.alive == 0)
        for recording in kept.all {
            Recorded.check(recording.events())
        }
        for recording in kept.all.prefix(50) { _ = try Recorded.check(trace: recording.chromeTrace()) }
    }
}
