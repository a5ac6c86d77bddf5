import Foundation
public import Testing

/// Runs tests that compute for long, or block their thread, on two separate threads.
///
/// Other tests run on Swift's few threads, one for each processor; a test that blocks those delays the
/// programs, servers and timers of other tests until they time out.
///
/// A time limit of the same test includes the time in which it waits for one of the two threads. Therefore it must be longer
/// than all tests with this trait take together, under a sanitizer: `.timeLimit(.minutes(120))`.
public struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    /// On a suite it applies to each of the suite's tests.
    public let isRecursive = true

    /// Runs a test case on these threads.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(Threads.shared) { try await function() }
    }

    /// Two threads that run jobs alternately.
    ///
    /// Sound as `@unchecked Sendable`: `jobs` is accessed only under `condition`'s lock.
    private final class Threads: TaskExecutor, @unchecked Sendable {
        static let shared = Threads()

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
