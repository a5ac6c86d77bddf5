public import Deferred
public import Foundation

/// An operation queue is a dispatcher: `then(on: queue) { … }`.
extension OperationQueue: Dispatcher {
    /// Runs `work` as an operation of this queue.
    ///
    /// If that operation is cancelled before the queue comes to it, `work` is let go without having run, and
    /// the link whose callback it was fails with `DeferredError.abandoned`.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        addOperation(work)
    }
}

extension OperationQueue {
    /// Runs `body` on this queue, and gives what it returns or throws (Twisted's `deferToThread`).
    ///
    /// ```swift
    /// queue.deferred { try Data(contentsOf: file) }
    ///     .then(on: .main) { show($0) }
    /// ```
    ///
    /// Cancelled before the queue has come to it, `body` does not run; cancelled later, what it gives is
    /// dropped.
    ///
    /// - Parameter dispatcher: Where the outcome is delivered; without, on the thread on which `body` ran.
    public func deferred<Value: Sendable>(
        deliveringOn dispatcher: (any Dispatcher)? = nil, _ body: @escaping @Sendable () throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        DataSource { _ in try body() }.request(on: self, deliveringOn: dispatcher, fileID: fileID, line: line)
    }

    /// Runs `body` on this queue, and gives the outcome of the Deferred that it returns. The operation counts
    /// as under way until that has fired.
    public func deferred<Value: Sendable>(
        deliveringOn dispatcher: (any Dispatcher)? = nil,
        _ body: @escaping @Sendable () throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        ConcurrentDataSource(awaiting: body)
            .request(on: self, deliveringOn: dispatcher, fileID: fileID, line: line)
    }
}
