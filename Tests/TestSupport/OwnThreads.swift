import Foundation
public import Testing

/// Runs tests that compute for long, or block their thread, on two threads of their own.
///
/// Other tests run on Swift's few threads, one for each processor; a test that blocks those delays the programs,
/// servers and timers of other tests until they time out.
public struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    /// On a suite it applies to each of the suite's tests.
    public let isRecursive = true

    /// Runs a test case on two threads that no other test has meanwhile.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let threads = await Pool.shared.take()
        defer { Pool.shared.putBack(threads) }
        try await withTaskExecutorPreference(threads) { try await function() }
    }

    /// As many pairs of threads as tests that `.ci/run` has run at once. Where more run at once, some wait for a
    /// pair, which does not count as their time.
    ///
    /// Its lock is one whose order ThreadSanitizer sees. A `Mutex` that two threads contend for is handed over by the
    /// kernel on Linux, and what the two do under it is then reported as a race.
    ///
    /// Sound as `@unchecked Sendable`: `free` and `waiting` are accessed only under `lock`.
    private final class Pool: @unchecked Sendable {
        static let shared = Pool()

        private let lock = NSLock()
        private var free = (0..<4).map { _ in Threads() }
        private var waiting: [CheckedContinuation<Threads, Never>] = []

        func take() async -> Threads {
            await withCheckedContinuation { continuation in
                let threads = lock.withLock {
                    if free.isEmpty { waiting.append(continuation) }
                    return free.popLast()
                }
                if let threads { continuation.resume(returning: threads) }
            }
        }

        func putBack(_ threads: Threads) {
            let next = lock.withLock {
                if waiting.isEmpty { free.append(threads) }
                return waiting.isEmpty ? nil : waiting.removeFirst()
            }
            next?.resume(returning: threads)
        }
    }

    /// Two threads that run jobs alternately.
    ///
    /// Sound as `@unchecked Sendable`: `jobs` is accessed only under `condition`'s lock.
    private final class Threads: TaskExecutor, @unchecked Sendable {
        private let condition = NSCondition()
        private var jobs: [UnownedJob] = []

        init() {
            for _ in 0..<2 {
                let thread = Thread { [self] in
                    while true { takeJob().runSynchronously(on: asUnownedTaskExecutor()) }
                }
                // The same stack size as the threads that run other tests.
                thread.stackSize = 8 << 20
                thread.start()
            }
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            condition.withLock { jobs.append(job) }
            condition.signal()
        }

        private func takeJob() -> UnownedJob {
            condition.withLock {
                while jobs.isEmpty { condition.wait() }
                return jobs.removeFirst()
            }
        }
    }
}

extension Trait where Self == OwnThreads {
    /// For tests that compute for long, or block their thread.
    public static var ownThreads: OwnThreads { OwnThreads() }
}
