/// Runs Swift concurrency's jobs on the thread that drains it, so that tasks and continuations are timed
/// without any thread waking another: the cheapest they can be.
///
/// `@unchecked Sendable` is sound because a sample makes, fills and drains its executor on one thread.
final class ManualExecutor: TaskExecutor, @unchecked Sendable {
    private var jobs: [UnownedJob] = []
    private var following: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.append(UnownedJob(job))
    }

    /// Runs what is queued, and what that queues, until nothing is left.
    func drain() {
        while !jobs.isEmpty {
            swap(&jobs, &following)
            for job in following {
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
            following.removeAll(keepingCapacity: true)
        }
    }

    /// Runs `body` as a task, and, whenever nothing is left to run before it has ended, `whenIdle`, which is
    /// to resume something.
    func run(_ body: @escaping @Sendable () async throws -> Void, whenIdle: () -> Void = {}) throws {
        let ending = Ending()
        Task(executorPreference: self) {
            do {
                try await body()
                ending.outcome = .success(())
            } catch {
                ending.outcome = .failure(error)
            }
        }
        drain()
        while ending.outcome == nil {
            whenIdle()
            guard !jobs.isEmpty else { throw WrongResult(description: "a task waits and nothing resumes it") }
            drain()
        }
        try ending.outcome?.get()
    }
}

/// `@unchecked Sendable` is sound for the reason that ``ManualExecutor`` gives: one thread.
private final class Ending: @unchecked Sendable {
    var outcome: Result<Void, any Error>?
}

/// Where a workload leaves what its driver is to fire next: promises, resolvers, continuations.
///
/// `@unchecked Sendable` is sound because what is left here is taken on the same thread.
final class Waiting<Element>: @unchecked Sendable {
    private var latest: Element?
    private(set) var all: [Element] = []

    /// Leaves one for `next()`.
    func leave(_ element: Element) { latest = element }

    /// Takes what was left last.
    func next() -> Element? {
        defer { latest = nil }
        return latest
    }

    func append(_ element: Element) { all.append(element) }

    func removeAll() { all.removeAll(keepingCapacity: true) }
}

extension Contender {
    /// A contender whose sample runs as one task on a ``ManualExecutor`` of its own.
    static func concurrent(
        _ library: Library, items: Int = 1,
        _ body: @escaping (ManualExecutor, Int, Stopwatch) throws -> Void
    ) -> Contender {
        Contender(library, items: items) { iterations, stopwatch in
            try body(ManualExecutor(), iterations, stopwatch)
        }
    }
}
