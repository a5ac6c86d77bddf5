import Deferred
import DeferredOperations
import Foundation
import Testing

/// A completable Deferred that a closure returns, and that nothing else can complete.
@Suite(.timeLimit(.minutes(5)))
struct AbandonedAnswerTests {
    @Test("A1: whatever calls the closure does not retain the handle that it returns")
    func closures() async {
        let queue = OperationQueue()
        let lockFile = FileManager.default.temporaryDirectory.appendingPathComponent(
            "lock-\(UUID().uuidString)")
        let cache = DeferredCache<Int, Int>()
        let latest = DeferredLatest()
        let filesystemLock = DeferredFilesystemLock(path: lockFile.path)
        let outcomes: [(String, Deferred<Void>)] = [
            ("then", Deferred.resolved(1).then { _ in Deferred<Int>() }.thenReturn(())),
            (
                "operation",
                ConcurrentDataSource(awaiting: { Deferred<Int>() }).request(on: queue).thenReturn(())
            ),
            ("operation queue", queue.deferredFollowing { Deferred<Int>() }.thenReturn(())),
            (
                "dispatch queue",
                DispatchQueue.global().deferredFollowing { Deferred<Int>() }.thenReturn(())
            ),
            ("semaphore", DeferredSemaphore(1).run { Deferred<Int>() }.thenReturn(())),
            ("lock", DeferredLock().run { Deferred<Int>() }.thenReturn(())),
            ("file lock", filesystemLock.run { Deferred<Int>() }.thenReturn(())),
            ("latest", latest.run { Deferred<Int>() }.thenReturn(())),
            ("retry", Deferred.retry(attempts: 2, delay: .none) { Deferred<Int>() }.thenReturn(())),
            ("repeating", Deferred.repeating(every: .seconds(1)) { Deferred<Int>() }),
            ("cache", cache.value(for: 1) { Deferred<Int>() }.thenReturn(())),
            ("list", DeferredList([1], limit: 1) { _ in Deferred<Int>() }.values().thenReturn(())),
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
