import Deferred
import DeferredTesting
import DeferredTracing
import Dispatch
import TestSupport
import Testing

@Suite("Recording", .serialized, .watchdog)
struct RecordingTests {
    /// A program, and its events in words.
    struct Program: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let words: String
        let run: @Sendable () -> Void

        init(_ name: String, _ words: String, _ run: @escaping @Sendable () -> Void) {
            (testDescription, self.words, self.run) = (name, words, run)
        }
    }

    static let programs: [Program] = [
        Program(
            "a chain's callbacks are noted in their order, and those that are passed by are not",
            """
            1 made by Deferred(); 2 map of 1; 3 recover of 2; 4 map of 3; 5 fail of 4; \
            1 complete begins; 1 value; 2 callback begins; 2 ends; 2 value; 3 value; \
            4 callback begins; 4 ends; 4 failure Boom(id: 1); 5 callback begins; 5 ends; \
            5 value; 1 ends
            """
        ) {
            let source = Deferred<Int>()
            source.map { $0 + 1 }.recover { _ in 0 }.map { _ -> Int in throw Rules.Boom(1) }
                .fail { _ -> Void in }
            source.resolve(1)
        },
        Program(
            "what is attached to a settled Deferred is noted as it runs",
            """
            1 made by resolved; 1 value; 2 map of 1; 2 callback begins; 2 ends; 2 value; \
            3 both of 2; 3 callback begins; 3 ends; 3 value
            """
        ) {
            Deferred.resolved(1).map { $0 }.both { _ in }
        },
        Program(
            "a callback that returns a Deferred waits for it",
            """
            1 made by Deferred(); 2 made by resolved; 2 value; 3 then of 2; 3 callback begins; \
            3 ends; 3 waits for 1; 1 complete begins; 1 value; 3 value; 1 ends
            """
        ) {
            let inner = Deferred<Int>()
            let outer = Deferred.resolved(0).then { _ in inner }
            inner.resolve(1)
            Rules.keep(outer)
        },
        Program(
            "a step without a handle is bypassed by its consumer",
            """
            1 made by Deferred(); 2 made by Deferred(); 3 made by Deferred(); 4 then of 1; \
            1 complete begins; 1 value; 4 callback begins; 5 then of 2; 4 ends; 4 waits for 5; \
            1 ends; 2 complete begins; 2 value; 5 callback begins; 5 ends; 5 waits for 3; \
            5 bypassed by 4; 2 ends; 3 complete begins; 3 value; 4 value; 3 ends
            """
        ) {
            let (first, second, third) = (Deferred<Int>(), Deferred<Int>(), Deferred<Int>())
            let last = first.then { _ in second.then { _ in third } }
            first.resolve(1)
            second.resolve(2)
            third.resolve(3)
            Rules.keep(last)
        },
        Program(
            "a cancel is noted with the canceller that it runs and the errbacks that see it",
            """
            1 made by withResolver; 2 recover of 1; 2 cancel begins; 1 canceller begins; 1 ends; \
            1 cancelled; 2 callback begins; 2 ends; 2 value; 2 ends
            """
        ) {
            let (deferred, resolver) = Deferred<Int>.withResolver { _ in }
            let last = deferred.recover { _ in 0 }
            last.cancel()
            Rules.keep(resolver)
        },
        Program(
            "a source that is abandoned keeps its number",
            """
            1 made by Deferred(); 2 map of 1; 1 failure \(DeferredError.abandoned); \
            2 failure \(DeferredError.abandoned)
            """
        ) {
            let position = Deferred<Int>().map { $0 }
            _ = position.currentResult
        },
        Program(
            "pauses are recorded, and the suspended callbacks run within the unpause",
            """
            1 made by Deferred(); 2 done of 1; 1 paused; 1 complete begins; 1 value; 1 ends; \
            1 unpause begins; 1 unpaused; 2 callback begins; 2 ends; 2 value; 1 ends
            """
        ) {
            let source = Deferred<Int>()
            source.done { _ in }
            source.pause()
            source.resolve(1)
            source.unpause()
        },
        Program(
            "a list is attached to its inputs, and is one Deferred",
            """
            1 made by Deferred(); 2 made by Deferred(); 3 made by list; 3 list of 1; \
            3 list of 2; 1 complete begins; 1 value; 1 ends; 2 complete begins; 2 value; 3 value; 2 ends
            """
        ) {
            let (a, b) = (Deferred<Int>(), Deferred<Int>())
            let sum = DeferredList([a, b]).values()
            a.resolve(1)
            b.resolve(2)
            Rules.keep(sum)
        },
        Program(
            "a Deferred that follows another says which",
            """
            1 made by Deferred(); 2 made by Deferred(); 2 follows 1; 1 complete begins; 1 value; \
            2 value; 1 ends
            """
        ) {
            let (a, b) = (Deferred<Int>(), Deferred<Int>())
            b.follow(a)
            a.resolve(1)
            Rules.keep(b)
        },
        Program(
            "a finalizer is noted when it runs",
            """
            1 made by Deferred(); 1 complete begins; 1 value; 1 finally begins; 1 ends; 1 ends
            """
        ) {
            let source = Deferred<Int>()
            source.finally { _ in }
            source.resolve(1)
        },
    ]

    @Test("Recording: what happens is noted in its order", arguments: programs)
    func events(of program: Program) {
        let events = Recorded.events { program.run() }
        Recorded.check(events)
        #expect(events.map(Recorded.words).joined(separator: "; ") == program.words)
    }

    @Test("Recording: an event says where and how its Deferred was made, and where it was completed")
    func places() {
        let events = Recorded.events {
            let source = Deferred<Int>()
            source.done { _ in }
            source.resolve(1)
        }
        let line = #line - 4
        #expect(events.map(\.made.line).prefix(2) == [line, line + 1])
        #expect(events.allSatisfy { $0.made.fileID == #fileID })
        #expect(events[0].origin == .source && events[1].origin == .done)
        let place = DeferredDiagnostic.Location(line: UInt(line + 2))
        let action = events[2].action
        #expect(action.kind == .began && action.activity == .completing(at: place))
        #expect(action.activity?.place == place)
        #expect(action.queue != nil && action.other == nil && events[1].action.other == 1)
        #expect(events.contains { $0.action.kind == .settled && $0.action.outcome == .value })
    }

    @Test("Recording: a callback with a dispatcher is submitted, and runs where and when that runs it")
    func dispatched() {
        let dispatcher = ManualDispatcher()
        let events = Recorded.events {
            let source = Deferred<Int>()
            source.done(on: dispatcher) { _ in }
            source.resolve(1)
            Rules.onThread { dispatcher.run() }
        }
        Recorded.check(events)
        #expect(
            events.map(Recorded.words) == [
                "1 made by Deferred()", "2 done of 1", "1 complete begins", "1 value",
                "2 to ManualDispatcher",
                "1 ends", "2 callback begins", "2 ends", "2 value",
            ])
        #expect(Set(events.prefix(6).map(\.thread)).count == 1)
        #expect(events[6].thread != events[5].thread && events[7].thread == events[6].thread)
    }

    @Test("Recording: a queue is named by its label, where work is submitted and where it runs")
    func queues() throws {
        let queue = DispatchQueue(label: "recorded")
        let events = Recorded.events {
            _ = try? Deferred.resolved(1).map(on: queue) { $0 }.wait()
            queue.sync {}
            let pending = Deferred<Int>()
            _ = try? pending.wait(timeout: .zero)
            pending.resolve(1)
        }
        #expect(events.contains { $0.action.kind == .dispatched && $0.action.queue == "recorded" })
        #expect(events.contains { $0.action.activity == .callback && $0.action.queue == "recorded" })
        #expect(events.contains { $0.origin == .blocking })
    }

    @Test("Recording: an await is noted as what waits")
    func awaiting() async throws {
        let events = try await DeferredDiagnostics.withRecording(madeIn: [#fileID]) { recording in
            let dispatcher = ManualDispatcher()
            let position = Deferred.resolved(1).map(on: dispatcher) { $0 }
            async let value = position.value
            // The await is attached before the callback may run.
            while !recording.events().contains(where: { $0.origin == .awaiting }) { await Task.yield() }
            dispatcher.run()
            let seen = try await value
            #expect(seen == 1)
            return recording.events()
        }
        Recorded.check(events)
        let consumer = try #require(events.first { $0.origin == .awaiting })
        #expect(consumer.action.kind == .attached && consumer.action.other == 2)
        #expect(events.contains { $0.deferred == consumer.deferred && $0.action.outcome == .value })
    }

    @Test("Recording: a failure is described once, before callbacks see it; a cancellation is distinguished")
    func failures() {
        struct Told: Error, CustomStringConvertible {
            let log: Rules.Log
            var description: String {
                log("described")
                return String(repeating: "x", count: 1000)
            }
        }
        let log = Rules.Log()
        let events = Recorded.events {
            let source = Deferred<Int>()
            source.recover { _ -> Int in
                log("errback")
                throw CancellationError()
            }.fail { _ -> Void in }
            source.reject(Told(log: log))
        }
        #expect(log.all == ["described", "errback"])
        #expect(events.contains { $0.action.outcome == .failure(String(repeating: "x", count: 300)) })
        #expect(events.contains { $0.deferred == 2 && $0.action.outcome == .cancelled })
    }

    @Test("Recording: an asynchronous callback, a delay, a timeout and a shield say what they are")
    func origins() async throws {
        let clock = ManualClock()
        let events = try await DeferredDiagnostics.withRecording(madeIn: [#fileID]) { recording in
            _ = try await Deferred { () async throws -> Int in 1 }.value
            let late = Deferred.after(.seconds(1), timer: clock, value: 1).shielded().timeout(
                .seconds(2), timer: clock)
            clock.advance(by: .seconds(1))
            #expect(late.currentResult != nil)
            return recording.events()
        }
        #expect(Set(events.map(\.origin)).isSuperset(of: [.task, .after, .timeout, .shielded]))
    }
}
