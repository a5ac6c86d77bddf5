import Deferred
import DeferredOperations
import Foundation
import Testing

/// A completable Deferred that a closure returns, and that nothing else can complete.
@Suite(.timeLimit(.minutes(5)))
struct AbandonedAnswerTests {
    @Test("A1: whatever calls the closure does not retain the handle that it returns")
    func closures() async {
        let (queue, cache, latest) = (OperationQueue(), DeferredCache<Int, Int>(), DeferredLatest())
        let lockFile = FileManager.default.temporaryDirectory.appendingPathComponent("lock-\(UUID())")
        let filesystemLock = DeferredFilesystemLock(path: lockFile.path)
        let never = { @Sendable () -> Deferred<Int> in Deferred() }
        let outcomes: [(String, Deferred<Int>)] = [
            ("then", Deferred.resolved(1).then { _ in never() }),
            ("operation", ConcurrentDataSource(awaiting: never).request(on: queue)),
            ("operation queue", queue.deferredFollowing(never)),
            ("dispatch queue", DispatchQueue.global().deferredFollowing(never)),
            ("semaphore", DeferredSemaphore(1).run(never)), ("lock", DeferredLock().run(never)),
            ("file lock", filesystemLock.run(never)), ("latest", latest.run(never)),
            ("retry", Deferred.retry(attempts: 2, delay: .none, never)),
            ("repeating", Deferred.repeating(every: .seconds(1), never).thenReturn(1)),
            ("cache", cache.value(for: 1, never)),
            ("list", DeferredList([1], limit: 1) { _ in never() }.values().thenReturn(1)),
        ]
        for (name, outcome) in outcomes {
            let error = await outcome.result.failure
            #expect(error as? DeferredError == .abandoned, "\(name)")
        }
        try? FileManager.default.removeItem(at: lockFile)
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
