/// Runs Swift concurrency's jobs on the thread that drains it, so that tasks and continuations are timed
/// without waking another thread: their lowest possible cost.
///
/// Sound as `@unchecked Sendable`: a sample creates, fills and drains its executor on one thread.
final class ManualExecutor: TaskExecutor, @unchecked Sendable {
    private var jobs: [UnownedJob] = []
    private var following: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.append(UnownedJob(job))
    }

    /// Runs the queued jobs, and the jobs that those enqueue, until the queue is empty.
    func drain() {
        while !jobs.isEmpty {
            swap(&jobs, &following)
            for job in following {
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
            following.removeAll(keepingCapacity: true)
        }
    }

    /// Runs `body` as a task. Calls `whenIdle`, which must resume something, whenever the queue is empty
    /// before the task has ended.
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

/// Sound as `@unchecked Sendable`: used on one thread, as ``ManualExecutor`` is.
private final class Ending: @unchecked Sendable {
    var outcome: Result<Void, any Error>?
}

/// A stack of the promises, resolvers or continuations that the driver of a workload is to complete.
///
/// Sound as `@unchecked Sendable`: used on one thread.
final class Waiting<Element>: @unchecked Sendable {
    private var latest: Element?
    private(set) var all: [Element] = []

    /// Pushes one for `next()`.
    func leave(_ element: Element) { latest = element }

    /// Pops the one that was pushed last.
    func next() -> Element? {
        defer { latest = nil }
        return latest
    }

    func append(_ element: Element) { all.append(element) }

    func removeAll() { all.removeAll(keepingCapacity: true) }
}

extension Contender {
    /// Creates a contender whose sample runs as one task on a ``ManualExecutor`` of its own.
    static func concurrent(
        _ library: Library, items: Int = 1,
        _ body: @escaping (ManualExecutor, Int, Stopwatch) throws -> Void
    ) -> Contender {
        Contender(library, items: items) { iterations, stopwatch in
            try body(ManualExecutor(), iterations, stopwatch)
        }
    }
    static func concurrent(
        _ library: Library, items: Int,
        sized: @escaping (ManualExecutor, _ items: Int, _ iterations: Int, Stopwatch) throws -> Void
    ) -> Contender {
        Contender(library, items: items, sized: { try sized(ManualExecutor(), $0, $1, $2) })
    }
}
