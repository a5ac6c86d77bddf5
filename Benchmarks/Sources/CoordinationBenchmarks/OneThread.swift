import AllocationCounter
import Comparing
import Deferred
import DeferredTesting

/// Times what one operation takes on one thread, where nothing else runs: a call that waits and is then served, and a
/// job through a worker. The semaphore is the measure of the others: all share its waiting list.
struct OneThread {
    let rounds: Int

    private let count = 10_000

    func run(only name: String?) async {
        print("\n## One thread, for one call\n")
        titles(["", "ns", "times the semaphore", "allocations"])
        var jobs = self.jobs
        if let name { jobs.removeAll { !$0.name.contains(name) } }
        let times = await TimedJob.compare(
            jobs.map { job in TimedJob(name: job.name) { job.run(count) } }, by: .thread, rounds: rounds)
        for (job, time) in zip(jobs, times) {
            allocation_counting_reset()
            allocation_counting_start()
            job.run(count)
            allocation_counting_stop()
            let allocations = Double(allocation_counting_read().allocations) / Double(count)
            row([job.name, figure(time / Double(count)), ratio(time, times[0]), figure(allocations)])
        }
    }

    private func ratio(_ time: Double, _ other: Double) -> String { "\((time / other * 10).rounded() / 10)" }

    private struct Job: Sendable {
        let name: String
        let run: @Sendable (_ count: Int) -> Void
    }

    private var jobs: [Job] {
        [
            Job(name: "acquire() that waits") { count in
                let semaphore = DeferredSemaphore(1)
                var held = semaphore.tryAcquire()
                for _ in 0..<count {
                    let permit = semaphore.acquire()
                    held?.release()
                    held = permit.currentPermit
                }
            },
            Job(name: "get() that waits") { count in
                let queue = DeferredQueue<Int>()
                for number in 0..<count {
                    let element = queue.get()
                    try? queue.put(number)
                    precondition(element.currentValue == number)
                }
            },
            Job(name: "get() of what is there") { count in
                let queue = DeferredQueue<Int>()
                for number in 0..<count {
                    try? queue.put(number)
                    precondition(queue.get().currentValue == number)
                }
            },
            Job(name: "tryGet()") { count in
                let queue = DeferredQueue<Int>()
                for number in 0..<count {
                    try? queue.put(number)
                    precondition(queue.tryGet() == number)
                }
            },
            Job(name: "an element through a worker that waits") { count in
                let queue = DeferredQueue<Int>()
                let worker = queue.run { _ in }
                for number in 0..<count { try? queue.put(number) }
                queue.finish()
                precondition(worker.isSettled)
            },
            Job(name: "an element that waits for a worker") { count in
                let queue = DeferredQueue<Int>()
                for number in 0..<count { try? queue.put(number) }
                queue.finish()
                precondition(queue.run { _ in }.isSettled)
            },
            Job(name: "a cache's request") { count in
                let cache = DeferredCache<Int, Int>()
                for number in 0..<count {
                    let (source, resolver) = Deferred<Int>.withResolver()
                    let value = cache.value(for: number) { source }
                    resolver.resolve(number)
                    precondition(value.currentValue == number)
                }
            },
            Job(name: "a cache's second caller") { count in
                let cache = DeferredCache<Int, Int>()
                let (source, resolver) = Deferred<Int>.withResolver()
                let first = cache.value(for: 0) { source }
                let others = (0..<count).map { _ in cache.value(for: 0) { source } }
                resolver.resolve(1)
                precondition(first.currentValue == 1 && others.allSatisfy(\.isSettled))
            },
            Job(name: "a cache's value that is kept") { count in
                let cache = DeferredCache<Int, Int>(keepingFor: .seconds(1), timer: ManualClock())
                for _ in 0..<count { precondition(cache.value(for: 0) { .resolved(1) }.currentValue == 1) }
            },
            Job(name: "a call of DeferredLatest that is replaced") { count in
                let latest = DeferredLatest()
                for _ in 0..<count { latest.run { Deferred<Int>.never() }.fail { _ in } }
                latest.cancel()
            },
        ]
    }
}

extension Deferred {
    fileprivate var currentValue: Value? { try? currentResult?.get() }
}

extension Deferred<DeferredSemaphore.Permit> {
    fileprivate var currentPermit: DeferredSemaphore.Permit? { currentValue }
}
