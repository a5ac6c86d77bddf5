import Comparing
import Deferred

#if Peers
import AsyncAlgorithms
import NIOCore
#endif

/// Times the passing of elements from one Task to another, each awaited: in one table, and so under the same load, by what
/// different libraries have for it.
struct Passing {
    let rounds: Int

    private let count = 10_000

    func run() async {
        print("\n## Passing elements between two Tasks, each awaited; ns of elapsed time for each\n")
        titles(["", "ns", "times the queue"])
        var jobs = [unbounded, worker, actor, stream, rendezvous]
        #if Peers
        jobs += [channel, producer]
        #endif
        let times = await TimedJob.compare(jobs, by: .elapsed, rounds: rounds)
        for (job, time) in zip(jobs, times) {
            row([job.name, figure(time / Double(count)), figure(time / times[0])])
        }
    }

    private var unbounded: TimedJob {
        TimedJob(name: "DeferredQueue: put, get") { [count] in
            let queue = DeferredQueue<Int>()
            await twoTasks {
                for number in 0..<count { try queue.put(number) }
            } and: {
                for number in 0..<count { check(try await queue.get().value == number) }
            }
        }
    }

    private var worker: TimedJob {
        TimedJob(name: "DeferredQueue: put, asyncRun") { [count] in
            let queue = DeferredQueue<Int>()
            await twoTasks {
                for number in 0..<count { try queue.put(number) }
                queue.finish()
            } and: {
                try await queue.asyncRun { _ in }.value
            }
        }
    }

    private var actor: TimedJob {
        TimedJob(name: "an actor with continuations: put, get") { [count] in
            let queue = ActorQueue()
            await twoTasks {
                for number in 0..<count { await queue.put(number) }
            } and: {
                for number in 0..<count { check(await queue.get() == number) }
            }
        }
    }

    private var stream: TimedJob {
        TimedJob(name: "AsyncStream: yield, `for await`") { [count] in
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            await twoTasks {
                for number in 0..<count { continuation.yield(number) }
                continuation.finish()
            } and: {
                var next = 0
                for await number in stream {
                    check(number == next)
                    next += 1
                }
            }
        }
    }

    private var rendezvous: TimedJob {
        TimedJob(name: "DeferredQueue of size 0: send and get, both awaited") { [count] in
            let queue = DeferredQueue<Int>(size: 0)
            await twoTasks {
                for number in 0..<count { try await queue.send(number).value }
            } and: {
                for number in 0..<count { check(try await queue.get().value == number) }
            }
        }
    }

    #if Peers
    private var channel: TimedJob {
        TimedJob(name: "swift-async-algorithms' AsyncChannel: send and `for await`, both awaited") {
            [count] in
            let channel = AsyncChannel<Int>()
            await twoTasks {
                for number in 0..<count { await channel.send(number) }
                channel.finish()
            } and: {
                var next = 0
                for await number in channel {
                    check(number == next)
                    next += 1
                }
            }
        }
    }

    private var producer: TimedJob {
        TimedJob(name: "swift-nio's NIOAsyncSequenceProducer: yield, `for await`") { [count] in
            let made = NIOAsyncSequenceProducer.makeSequence(
                elementType: Int.self,
                backPressureStrategy: NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark(
                    lowWatermark: count, highWatermark: 2 * count),
                finishOnDeinit: true, delegate: NoDelegate())
            let (source, sequence) = (made.source, made.sequence)
            await twoTasks {
                for number in 0..<count { _ = source.yield(number) }
                source.finish()
            } and: {
                var next = 0
                for await number in sequence {
                    check(number == next)
                    next += 1
                }
            }
        }
    }

    private struct NoDelegate: NIOAsyncSequenceProducerDelegate {
        func produceMore() {}
        func didTerminate() {}
    }
    #endif
}

private func check(_ isTrue: Bool) { precondition(isTrue, "the elements came in another order") }

/// An error is a fault of the benchmark.
private func twoTasks(
    _ first: @escaping @Sendable () async throws -> Void,
    and second: @escaping @Sendable () async throws -> Void
) async {
    await withTaskGroup(of: Void.self) { group in
        for body in [first, second] {
            group.addTask {
                do { try await body() } catch { fatalError("\(error)") }
            }
        }
    }
}
