import Foundation
public import Testing

/// Runs tests on two threads of their own: those that compute for long, or block the thread that they are on.
///
/// Others run on Swift's few threads, one for each processor; what does not give those back keeps programs,
/// servers and timers of other tests waiting until they give up.
public struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    /// On a suite it is for each of the suite's tests.
    public let isRecursive = true

    /// Runs a test case on them.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(Threads.shared) { try await function() }
    }

    /// Two threads that take turns at jobs.
    ///
    /// Sound as `@unchecked Sendable`: `jobs` is touched only with `condition` locked.
    private final class Threads: TaskExecutor, @unchecked Sendable {
        static let shared = Threads()

        private let condition = NSCondition()
        private var jobs: [UnownedJob] = []

        init() {
            for _ in 0..<2 {
                let thread = Thread { [self] in
                    while true { takeJob().runSynchronously(on: asUnownedTaskExecutor()) }
                }
                // As the threads that tests are on otherwise.
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
    /// For tests that compute for long, or block the thread that they are on.
    public static var ownThreads: OwnThreads { OwnThreads() }
}
