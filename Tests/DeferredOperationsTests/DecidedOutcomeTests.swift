import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import TestSupport
import Testing

/// A cancel after the outcome has been decided and before it has been delivered.
@Suite(.ownThreads)
struct DecidedOutcomeTests {
    let queue = OperationQueue()

    enum Way: CaseIterable { case deferred, operation }

    @Test(
        "O2: decided and waiting for its dispatcher, the outcome stands after either cancel",
        arguments: Way.allCases)
    func waitingForDispatcher(_ way: Way) async throws {
        let dispatcher = ManualDispatcher()
        // Not started before the outcome has been decided.
        queue.isSuspended = true
        let source = ConcurrentDataSource<Int>()
        let request = source.request(on: queue, deliveringOn: dispatcher)
        #expect(source.finish(with: .success(7)))
        switch way {
        case .deferred: request.cancel()
        case .operation: source.cancel()
        }
        #expect(!source.isCancelled)
        while dispatcher.runNext() {}
        queue.isSuspended = false
        #expect(try request.currentResult?.get() == 7)
    }
}
