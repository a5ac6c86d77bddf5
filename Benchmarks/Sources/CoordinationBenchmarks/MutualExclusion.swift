import Comparing
import Deferred
import Synchronization

/// Times short jobs of which one, or a limited number, may run at a time, and the passing of elements through
/// a queue.
///
/// Each Task awaits each of its jobs, as code with an actor does. The last column attaches callbacks and
/// awaits only the last job, as chains do.
struct MutualExclusion {
    let rounds: Int

    private let jobs = 10_000

    func run() async {
        print("\n## Mutual exclusion, ns per job (elapsed time by the number of all Tasks' jobs)\n")
        titles(["", "Tasks", "Deferred, awaited", "an actor, awaited", "Deferred, with callbacks"])
        for tasks in [1, 2] {
            report("a lock", tasks, await locks(tasks))
        }
        report("a semaphore of 2", 4, await semaphores(4))
        report("a queue, put and get", 2, await queues())
    }

    private func report(_ name: String, _ tasks: Int, _ times: [Double]) {
        row([name, "\(tasks)"] + times.map { figure($0 / Double(jobs * tasks)) })
    }

    private func locks(_ tasks: Int) async -> [Double] {
        let lock = DeferredLock()
        let counted = JobCounter()
        let counter = CounterActor()
        return await compare(
            tasks,
            awaited: { try await lock.syncRun { counted.add() }.value },
            byActor: { await counter.add() },
            called: { lock.syncRun { counted.add() } })
    }

    private func semaphores(_ tasks: Int) async -> [Double] {
        let semaphore = DeferredSemaphore(2)
        let counted = JobCounter()
        let peer = ActorSemaphore(2)
        return await compare(
            tasks,
            awaited: { try await semaphore.syncRun { counted.add() }.value },
            byActor: {
                await peer.acquire()
                counted.add()
                await peer.release()
            },
            called: { semaphore.syncRun { counted.add() } })
    }

    private func compare(
        _ tasks: Int, awaited: @escaping @Sendable () async throws -> Void,
        byActor: @escaping @Sendable () async -> Void,
        called: @escaping @Sendable () -> Deferred<Void>
    ) async -> [Double] {
        await TimedJob.compare(
            [
                TimedJob(name: "awaited") {
                    await inTasks(tasks) { for _ in 0..<jobs { try await awaited() } }
                },
                TimedJob(name: "actor") { await inTasks(tasks) { for _ in 0..<jobs { await byActor() } } },
                TimedJob(name: "callbacks") {
                    await inTasks(tasks) {
                        for _ in 1..<jobs { _ = called() }
                        try await called().value
                    }
                },
            ],
            by: .elapsed, rounds: rounds)
    }

    /// One Task puts elements into the queue, another gets them.
    private func queues() async -> [Double] {
        let queue = DeferredQueue<Int>()
        let peer = ActorQueue()
        return await TimedJob.compare(
            [
                TimedJob(name: "awaited") {
                    await inTasks(2) { number in
                        for job in 0..<jobs {
                            if number == 0 { try queue.put(job) } else { _ = try await queue.get().value }
                        }
                    }
                },
                TimedJob(name: "actor") {
                    await inTasks(2) { number in
                        for job in 0..<jobs {
                            if number == 0 { await peer.put(job) } else { _ = await peer.get() }
                        }
                    }
                },
                TimedJob(name: "callbacks") {
                    await inTasks(2) { number in
                        for job in 1..<jobs {
                            if number == 0 { try queue.put(job) } else { queue.get().done { _ in } }
                        }
                        if number == 0 { try queue.put(0) } else { _ = try await queue.get().value }
                    }
                },
            ],
            by: .elapsed, rounds: rounds)
    }
}

/// The counter that the jobs increment.
private final class JobCounter: Sendable {
    private let count = Atomic(0)

    func add() { count.add(1, ordering: .relaxed) }
}

/// Calls the closure with the number of each Task. An error is a fault of the benchmark.
private func inTasks(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        for number in 0..<count {
            group.addTask {
                do { try await body(number) } catch { fatalError("\(error)") }
            }
        }
    }
}

private func inTasks(_ count: Int, _ body: @escaping @Sendable () async throws -> Void) async {
    await inTasks(count) { _ in try await body() }
}
