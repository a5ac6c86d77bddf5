import Deferred
import DeferredTracing
import Dispatch
import TestSupport
import Testing

/// Threads that perform random operations on shared Deferreds, with queues, Tasks and recordings.
///
/// The invariants in any order: no crash, no hang, no callback twice, and when all handles are released each
/// callback has run exactly once and nothing is leaked. What the schedules of fewer operations do is compared with the
/// contract in Tests/Interleaving.
@Suite("Torture: chaos", .serialized, .ownThreads, .watchdog)
struct ChaosTests {
    /// Deferreds that all threads use, and the counts of their callbacks.
    private final class Ground: Sendable {
        static let slots = 16

        let deferreds = (0..<slots).map { _ in Slot<Deferred<Int>>(nil) }
        let resolvers = (0..<slots).map { _ in Slot<Deferred<Int>.Resolver>(nil) }
        let attached = AtomicCounter()
        let ran = AtomicCounter()
        let finalizersAdded = AtomicCounter()
        let finalizersRan = AtomicCounter()
        let dispatcher = LateDispatcher()
        let queue = QuietQueue()
        let tasks = SharedLog<Task<Void, Never>>()
        let awaiting = DispatchGroup()
        let tracker: LeakTracker
        let seed: Int

        init(_ tracker: LeakTracker, _ seed: Int) {
            self.tracker = tracker
            self.seed = seed
        }

        /// Attaches a callback that runs with any outcome, exactly once.
        func attach(_ deferred: Deferred<Int>, _ random: inout SplitMix64) -> Deferred<Int> {
            let tracked = tracker.begin()
            let run = AtomicCounter()
            attached.add()
            let choice = random.next() % 8
            let other = Int(random.next() % UInt64(Ground.slots))
            let dispatcher: (any Dispatcher)? = choice == 0 ? self.dispatcher : choice == 7 ? queue : nil
            return deferred.thenResult(on: dispatcher) {
                [self] (result: Result<Int, any Error>) throws -> Deferred<Int> in
                tracked.use()
                #expect(run.add() == 1)
                ran.add()
                switch choice {
                case 1, 2, 3:
                    if let inner = deferreds[other].now { return inner }
                case 4: deferreds[other].now?.cancel()
                case 5: deferreds[other].now?.pause()
                case 6: deferreds[other].now?.resolve(other)
                default: break
                }
                return .resolved(try result.get())
            }
        }

        func doSomething(_ random: inout SplitMix64) {
            let index = Int(random.next() % UInt64(Ground.slots))
            let other = Int(random.next() % UInt64(Ground.slots))
            let choice = random.next() % 34
            if choice < 3 || deferreds[index].now == nil { return replace(index, &random) }
            guard let deferred = deferreds[index].now else { return }
            switch choice {
            case 3, 4: deferred.resolve(index)
            case 5: deferred.reject(TestError(number: index))
            case 6: resolvers[index].now?.resolve(index)
            case 7, 8, 9: _ = attach(deferred, &random)
            case 10, 11, 12: deferreds[other].put(attach(deferred, &random))
            case 13, 14: deferred.cancel()
            case 15: deferred.pause()
            case 16: deferred.unpause()
            case 17: deferreds[other].put(deferred.shielded())
            case 18: if let source = deferreds[other].now { source.follow(deferred) }
            case 19:
                if let second = deferreds[other].now {
                    list([deferred, second, deferred], into: other, &random)
                }
            case 20:
                finalizersAdded.add()
                let (tracked, ran, run) = (tracker.begin(), finalizersRan, AtomicCounter())
                deferred.finally { _ in
                    tracked.use()
                    #expect(run.add() == 1)
                    ran.add()
                }
            case 21: _ = (deferred.currentResult, deferred.description)
            case 22: dispatcher.runAll()
            case 23:
                let (joined, resolver) = Deferred<Int>.withResolver()
                resolver.follow(deferred)
                deferreds[other].put(joined)
            case 24, 25: limitedList(into: other)
            case 26: if let second = deferreds[other].now { DeferredList([deferred, second]).cancel() }
            case 27, 28:
                if let second = deferreds[other].now {
                    deferreds[index].put(gather(deferred, second).map { $0 &+ $1 })
                }
            case 29: deferreds[other].put(deferred.recover { _ in 1 })
            case 30: awaitValue(of: deferred)
            case 31 where Torture.records:
                let recording = DeferredDiagnostics.startRecording(limit: 100, madeIn: [#fileID])
                for _ in 0..<4 { doSomething(&random) }
                Recorded.check(recording.events())
                recording.stop()
                _ = recording.mermaidGraph()
            case 32: if let task = tasks.removeFirst() { task.cancel() }
            default: deferreds[index].drop()
            }
        }

        /// C6: the value, or the failure, is received once, also if the Task is cancelled.
        private func awaitValue(of deferred: Deferred<Int>) {
            awaiting.enter()
            // Taken out, so that the Task has released it when it leaves the group.
            let slot = Slot(deferred)
            tasks.add(
                Task {
                    await Self.takeValue(of: slot)
                    awaiting.leave()
                })
        }

        private static func takeValue(of slot: Slot<Deferred<Int>>) async {
            if let deferred = slot.take() { _ = try? await deferred.value }
        }

        private func replace(_ index: Int, _ random: inout SplitMix64) {
            let tracked = tracker.begin()
            switch random.next() % 3 {
            case 0:
                deferreds[index].put(Deferred<Int>())
            case 1:
                deferreds[index].put(
                    Deferred<Int>(canceller: { resolver in
                        tracked.use()
                        resolver.resolve(-1)
                    }))
            default:
                let (deferred, resolver) = Deferred<Int>.withResolver { _ in tracked.use() }
                deferreds[index].put(deferred)
                resolvers[index].put(resolver)
            }
        }

        private func list(_ inputs: [Deferred<Int>], into index: Int, _ random: inout SplitMix64) {
            let list = DeferredList(inputs, cancelsRemaining: random.next() % 2 == 0)
            let tracked = tracker.begin()
            switch random.next() % 3 {
            case 0: deferreds[index].put(list.results().map { $0.count })
            case 1: deferreds[index].put(list.values().map { $0.count })
            default:
                deferreds[index].put(
                    list.first().map {
                        tracked.use()
                        return $0.index
                    })
            }
        }

        /// A list that starts an input whenever another has settled.
        private func limitedList(into index: Int) {
            let inputs = DeferredList(0..<4, limit: 2) { [self] in
                deferreds[(index + $0) % Ground.slots].now ?? .resolved(0)
            }
            deferreds[index].put(inputs.values().map { $0.count })
        }

        /// Releases everything, repeatedly until nothing is left.
        func end() {
            // A Task retains the Deferred that it awaits.
            while let task = tasks.removeFirst() { task.cancel() }
            awaiting.wait()
            for _ in 0..<Ground.slots {
                for slot in deferreds { slot.drop() }
                for slot in resolvers { slot.drop() }
                dispatcher.runAll()
                queue.wait()
            }
            // Chains may go from one dispatcher to the other many times.
            for _ in 0..<1000 where ran.value < attached.value {
                dispatcher.runAll()
                queue.wait()
            }
        }
    }

    /// A queue on which diagnostics are not printed.
    private final class QuietQueue: Dispatcher {
        private let queue = DispatchQueue(label: "torture")

        func dispatch(_ work: @escaping @Sendable () -> Void) {
            queue.async { DeferredDiagnostics.withHandler({ _ in }, work) }
        }

        func wait() { queue.sync {} }
    }

    /// Stores work until some thread runs it.
    private final class LateDispatcher: Dispatcher {
        private let work = SpinLocked<[@Sendable () -> Void]>([])

        func dispatch(_ work: @escaping @Sendable () -> Void) { self.work.withLock { $0.append(work) } }

        func runAll() {
            while let next = work.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { next() }
        }
    }

    @Test(
        "F1-Z3, T1: four threads doing anything to sixteen Deferreds: every callback runs once, and nothing is left"
    )
    func chaos() {
        let tracker = LeakTracker()
        let rounds = AtomicCounter()
        @Sendable func wreak(_ ground: Ground, _ thread: Int) {
            var random = SplitMix64(UInt64(ground.seed * 4 + thread))
            for _ in 0..<100 { ground.doSomething(&random) }
        }
        Race {
            Ground(tracker, rounds.add())
        }.racing(
            { wreak($0, 0) }, { wreak($0, 1) }, { wreak($0, 2) }, { wreak($0, 3) }
        ).check { ground in
            ground.end()
            #expect(ground.ran.value == ground.attached.value)
            #expect(ground.finalizersRan.value == ground.finalizersAdded.value)
            #expect(tracker.alive == 0)
        }
    }
}
