import Deferred
import DeferredTesting
import DeferredTracing
import Foundation
import TestSupport
import Testing

@Suite("Recording: when, how much and at what cost", .serialized, .watchdog)
struct RecordingBoundsTests {
    @Test("Recording: only what happens between start and stop is noted")
    func bounds() {
        let source = Deferred<Int>()
        let recording = DeferredDiagnostics.startRecording(madeIn: [#fileID])
        source.done { _ in }
        recording.stop()
        recording.stop()
        source.done { _ in }
        source.resolve(1)
        #expect(recording.events().map(Recorded.words) == ["2 done of 1"])
        #expect(recording.events()[0].time > .zero)
    }

    @Test("Recording: it may begin inside a callback, and end there: what is noted is balanced")
    func halfWay() {
        let recordings = Rules.Box<[DeferredRecording]>([])
        let source = Deferred<Int>()
        let position = source.map { value -> Int in
            recordings.change { $0.append(DeferredDiagnostics.startRecording(madeIn: [#fileID])) }
            return value
        }
        position.done { _ in }
        position.done { _ in recordings.value[0].stop() }
        position.done { _ in }
        source.resolve(1)
        let events = recordings.value[0].events()
        Recorded.check(events)
        #expect(
            events.map(Recorded.words) == [
                "1 value", "2 callback begins", "2 ends", "2 value", "3 callback begins",
            ])
        // Activities that have begun end with the recording.
        #expect(recordings.value[0].chromeTrace().contains("unfinished"))
    }

    @Test("Recording: what it meets when that was settled is shown so")
    func metLate() throws {
        let before = Deferred.resolved(1)
        let recording = DeferredDiagnostics.startRecording(madeIn: [#fileID])
        before.done { _ in }
        #expect(recording.mermaidGraph().contains("was settled"))
        _ = try Recorded.check(trace: recording.chromeTrace())
    }

    @Test("Recording: beyond its limit events are counted and dropped, and both pictures say so")
    func limit() throws {
        let recording = DeferredDiagnostics.startRecording(limit: 3, madeIn: [#fileID])
        let source = Deferred<Int>()
        source.map { $0 }.done { _ in }
        source.resolve(1)
        recording.stop()
        #expect(recording.events().count == 3)
        // The source's completion begins and ends; three have a value; two callbacks begin. An activity that
        // has not begun does not end.
        #expect(recording.droppedEventCount == 6)
        #expect(recording.chromeTrace().contains(#""droppedEvents":"6""#))
        #expect(recording.mermaidGraph().contains("6 later events were dropped"))
        _ = try Recorded.check(trace: recording.chromeTrace())
        let none = DeferredDiagnostics.startRecording(limit: -1, madeIn: [#fileID])
        source.done { _ in }
        #expect(none.events().isEmpty && none.droppedEventCount > 0)
    }

    @Test("Recording: it keeps no value, error or callback alive, and ends when it is released")
    func lifetimes() {
        struct Held: Error { let life: LeakTracker.Tracked }
        let tracker = LeakTracker()
        let recording = DeferredDiagnostics.startRecording(madeIn: [#fileID])
        do {
            let life = tracker.begin()
            let source = Deferred<LeakTracker.Tracked>()
            source.map { _ -> Int in throw Held(life: life) }.recover { _ in life.returning(1) }
                .finally { _ in life.use() }.done { _ in life.use() }
            source.resolve(life)
            let (pending, resolver) = Deferred<Int>.withResolver { _ in life.use() }
            _ = pending.done(on: DroppingDispatcher()) { _ in life.use() }.fail { _ -> Void in }
            resolver.resolve(1)
        }
        #expect(tracker.alive == 0)
        #expect(recording.events().count > 10)
    }

    @Test("Recording: no two Deferreds have one number, however often their memory is used anew")
    func numbers() {
        let events = Recorded.events {
            for _ in 0..<1000 { _ = Deferred<Int>.resolved(1) }
        }
        #expect(Set(events.map(\.deferred)).count == 1000)
    }

    @Test("Recording: two at once note the same, each from its own start")
    func two() {
        let first = DeferredDiagnostics.startRecording(madeIn: [#fileID])
        let source = Deferred<Int>()
        // Parallel tests of this module fill any limit.
        let second = DeferredDiagnostics.startRecording(
            limit: .max, madeIn: ["NoSuchModule", "DeferredTests"])
        let nothing = DeferredDiagnostics.startRecording(madeIn: ["NoSuchModule"])
        source.resolve(1)
        first.stop()
        source.done { _ in }
        second.stop()
        #expect(
            first.events().map(Recorded.words) == [
                "1 made by Deferred()", "1 complete begins", "1 value", "1 ends",
            ])
        let own = second.events().filter { $0.made.fileID == #fileID }
        #expect(own.contains { $0.action.kind == .attached })
        #expect(!own.contains { $0.action.kind == .made })
        #expect(nothing.events().isEmpty)
    }

    @Test("Recording: a scope's recording ends with the scope, also by a throw and for an asynchronous one")
    func scopes() async throws {
        let kept = Rules.Box<[DeferredRecording]>([])
        func keep(_ recording: DeferredRecording) { kept.change { $0.append(recording) } }
        #expect(throws: Rules.Boom.self) {
            try DeferredDiagnostics.withRecording(madeIn: [#fileID]) { recording in
                keep(recording)
                throw Rules.Boom()
            }
        }
        let answer = await DeferredDiagnostics.withRecording(madeIn: [#fileID]) { recording in
            keep(recording)
            await Task.yield()
            return 5
        }
        #expect(answer == 5)
        _ = Deferred<Int>.resolved(1)
        #expect(kept.value.count == 2 && kept.value.allSatisfy { $0.events().isEmpty })
    }

    @Test("Recording: each thread has a number, and a name")
    func threads() {
        let recording = DeferredDiagnostics.startRecording(madeIn: [#fileID])
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            #if os(Linux)
            // Foundation does not always submit it there.
            try? Data("counter".utf8).write(to: URL(filePath: "/proc/thread-self/comm"))
            #else
            Thread.current.name = "counter"
            #endif
            _ = Deferred<Int>.resolved(1)
            done.signal()
        }
        thread.start()
        done.wait()
        Rules.onThread { _ = Deferred<Int>.resolved(1) }
        let threads = Set(recording.events().map(\.thread))
        #expect(threads.count == 2)
        #expect(Set(recording.threadNames.keys) == threads)
        #expect(recording.threadNames.values.contains("counter"))
    }

    @Test("Recording: random programs do the same while recorded, and the recordings are consistent")
    func programs() throws {
        let count = Extent.isSanitized ? 50 : Extent.programs(250, share: 0.01)
        for seed in 77_000..<(77_000 + count) {
            let program = UserProgram.random(.order, seed: seed)
            let recording = DeferredDiagnostics.startRecording(madeIn: ["DeferredTests/Run.swift"])
            let comparison = OrderComparison(program)
            recording.stop()
            #expect(comparison.difference == nil, "DEFERRED_SEED=\(seed)")
            Recorded.check(recording.events(), "DEFERRED_SEED=\(seed)")
            if seed % 20 == 0 { _ = try Recorded.check(trace: recording.chromeTrace()) }
        }
    }
}
