public import Deferred
public import Foundation

/// Makes an operation queue a dispatcher: `map(on: queue) { … }`.
extension OperationQueue: Dispatcher {
    /// Runs `work` as an operation of this queue.
    ///
    /// If that operation is cancelled before the queue starts it, `work` is released without having run, and
    /// the link whose callback it was fails with `DeferredError.abandoned`.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        addOperation(work)
    }
}

extension OperationQueue {
    /// Runs `body` on this queue, and returns a Deferred with what it returns or throws (Twisted's
    /// `deferToThread`).
    ///
    /// ```swift
    /// queue.deferred { try Data(contentsOf: file) }
    ///     .done(on: .main) { show($0) }
    /// ```
    ///
    /// If the Deferred is cancelled before the queue starts the operation, `body` does not run; if it is cancelled
    /// later, the result of `body` is dropped.
    ///
    /// - Parameter dispatcher: Where the outcome is delivered; without it, on the thread on which `body` ran. The
    ///   operation keeps its place in this queue until then: see
    ///   ``RequestOperation/request(on:deliveringOn:fileID:line:)`` for queues that deliver on each other.
    public func deferred<Value: Sendable>(
        deliveringOn dispatcher: (any Dispatcher)? = nil, _ body: @escaping @Sendable () throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        DataSource { _ in try body() }.request(on: self, deliveringOn: dispatcher, fileID: fileID, line: line)
    }

    /// Runs `body` on this queue, and returns a Deferred with the outcome of the one that `body` returns. The
    /// operation is executing until that is settled.
    ///
    /// Cancelling the result cancels the Deferred that `body` returned, unless that has other consumers: what
    /// is shared continues for its other consumers.
    ///
    /// - Parameter dispatcher: Where the outcome is delivered; without it, on the thread that settles the Deferred.
    public func deferredFollowing<R: DeferredConvertible>(
        deliveringOn dispatcher: (any Dispatcher)? = nil, _ body: @escaping @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        ConcurrentDataSource(awaiting: { try body().deferred })
            .request(on: self, deliveringOn: dispatcher, fileID: fileID, line: line)
    }
}
