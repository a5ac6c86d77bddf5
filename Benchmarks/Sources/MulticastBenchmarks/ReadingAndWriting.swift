import Comparing
import Dispatch
import Multicast
import Synchronization

/// Compares a readers-writer value with a `Mutex`, an actor, and a concurrent queue whose writes are
/// barriers.
///
/// One or two threads (Tasks, for the actor) do a mix of reads and writes. A short read reads one number; a
/// long one sums several thousand, which takes some microseconds.
struct ReadingAndWriting {
    let rounds: Int

    private static let numbers = Array(0..<4_096)

    private final class Locked: Sendable {
        let numbers = Mutex(ReadingAndWriting.numbers)
    }

    private actor Isolated {
        var numbers = ReadingAndWriting.numbers

        func read(_ length: Int) -> Int { sum(numbers, length) }
        func write(_ number: Int) { numbers[0] = number }
    }

    /// Sound as `@unchecked Sendable`: written inside barriers only, read inside the queue only.
    private final class Queued: @unchecked Sendable {
        let queue = DispatchQueue(label: "numbers", attributes: .concurrent)
        var numbers = ReadingAndWriting.numbers
    }

    func run() async {
        print(
            "\n## Reading and writing, ns per operation (elapsed time by the number of all threads' operations)\n"
        )
        print("Two threads that share nothing do \(await parallelism()) times the work of one.\n")
        titles(["threads", "read", "reads", "SynchronizedValue", "Mutex", "actor", "barrier queue"])
        for threads in [1, 2] {
            for (name, length, operations) in [("short", 1, 20_000), ("long", 4_096, 1_000)] {
                for reads in [100, 99, 90, 50, 0] {
                    let times = await measure(threads, length, reads, operations)
                    row(
                        ["\(threads)", name, "\(reads)%"]
                            + times.map { figure($0 / Double(threads * operations)) })
                }
            }
        }
    }

    /// Measures how much faster two threads are than one on this machine: 2 on two idle processors.
    private func parallelism() async -> Double {
        let work: @Sendable () -> Void = {
            for _ in 0..<2_000 { consume(sum(Self.numbers, Self.numbers.count)) }
        }
        let times = await TimedJob.compare(
            [
                TimedJob(name: "one thread") { onThreads(1, work) },
                TimedJob(name: "two threads") { onThreads(2, work) },
            ],
            by: .elapsed,
            rounds: rounds
        )
        return (20 * times[0] / times[1]).rounded() / 10
    }

    private func measure(_ threads: Int, _ length: Int, _ reads: Int, _ operations: Int) async -> [Double] {
        let value = SynchronizedValue(Self.numbers)
        let locked = Locked()
        let isolated = Isolated()
        let queued = Queued()
        let pattern = (0..<operations).map { ($0 * 37) % 100 < reads }
        return await TimedJob.compare(
            [
                TimedJob(name: "SynchronizedValue") {
                    onThreads(threads) {
                        for isRead in pattern {
                            if isRead {
                                consume(value.read { sum($0, length) })
                            } else {
                                value.write { $0[0] = 1 }
                            }
                        }
                    }
                },
                TimedJob(name: "Mutex") {
                    onThreads(threads) {
                        for isRead in pattern {
                            if isRead {
                                consume(locked.numbers.withLock { sum($0, length) })
                            } else {
                                locked.numbers.withLock { $0[0] = 1 }
                            }
                        }
                    }
                },
                TimedJob(name: "actor") {
                    await withTaskGroup(of: Void.self) { group in
                        for _ in 0..<threads {
                            group.addTask {
                                for isRead in pattern {
                                    if isRead {
                                        consume(await isolated.read(length))
                                    } else {
                                        await isolated.write(1)
                                    }
                                }
                            }
                        }
                    }
                },
                TimedJob(name: "barrier queue") {
                    onThreads(threads) {
                        for isRead in pattern {
                            if isRead {
                                consume(queued.queue.sync { sum(queued.numbers, length) })
                            } else {
                                queued.queue.sync(flags: .barrier) { queued.numbers[0] = 1 }
                            }
                        }
                    }
                },
            ],
            by: .elapsed,
            rounds: rounds
        )
    }
}

@inline(never)
private func sum(_ numbers: [Int], _ length: Int) -> Int {
    var sum = 0
    for index in 0..<length { sum = (sum &+ numbers[index]) ^ index }
    return sum
}

@_optimize(none)
private func consume(_ number: Int) {}

/// Runs the closure on threads of its own, which start together once all exist: `concurrentPerform` may run
/// everything on the first.
private func onThreads(_ number: Int, _ body: @escaping @Sendable () -> Void) {
    if number == 1 { return body() }
    let arrived = ThreadCounter()
    let group = DispatchGroup()
    for _ in 0..<number {
        DispatchQueue(label: "thread").async(group: group) {
            arrived.count.add(1, ordering: .relaxed)
            while arrived.count.load(ordering: .relaxed) < number {}
            body()
        }
    }
    group.wait()
}

private final class ThreadCounter: Sendable {
    let count = Atomic(0)
}
