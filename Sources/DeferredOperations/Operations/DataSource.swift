public import Deferred
public import Foundation

// Sound as `@unchecked Sendable`: what changes is behind the lock of `body`.
/// Represents work that ends when a function returns, as an operation whose outcome is a `Deferred`.
///
/// Subclass it and override ``load()``, or create it with a closure:
///
/// ```swift
/// final class Checksum: DataSource<UInt32>, @unchecked Sendable {
///     let file: URL
///     init(of file: URL) {
///         self.file = file
///         super.init()
///     }
///     override func load() throws -> UInt32 { crc32(try Data(contentsOf: file)) }
/// }
///
/// Checksum(of: file).request(on: queue, deliveringOn: .main)
///     .done { label.text = "\($0)" }
/// ```
///
/// Dependencies, priority, quality of service and the queue's limits work as for any other `Operation`.
open class DataSource<Value: Sendable>: RequestOperation<Value>, @unchecked Sendable {
    private let body = Locked<(@Sendable (Operation) throws -> Value)?>(nil)

    /// Creates a data source of a subclass, which overrides ``load()``.
    public override init() { super.init() }

    /// Creates a data source that runs `body` on the queue's thread, and passes the operation to it, whose
    /// `isCancelled` it may check. The closure is released when the work has ended.
    public init(_ body: @escaping @Sendable (Operation) throws -> Value) {
        super.init()
        self.body.withLock { $0 = body }
    }

    /// Does the work, and returns or throws what is delivered. Override it; do not call `super`.
    ///
    /// Runs on the queue's thread, once, unless the operation is cancelled before. If it is cancelled while this runs,
    /// the Deferred is settled at once and the result of this is dropped, but it occupies the queue's thread until it
    /// returns. Work that takes long should check `isCancelled` from time to time, and may throw any error to end.
    open func load() throws -> Value {
        guard let body = body.withLock({ $0.take() }) else {
            throw DataSourceError.notOverridden("load() of \(type(of: self))")
        }
        return try body(self)
    }

    final override func work() { decide(Result { try load() }) }

    final override func releaseWork() { _ = body.withLock { $0.take() } }
}

/// Makes an operation queue a dispatcher: `map(on: queue) { … }`.
extension OperationQueue: Dispatcher {
    /// Runs `work` as an operation of this queue.
    ///
    /// If that operation is cancelled before the queue starts it, `work` is released without having run, and
    /// the link whose callback it was fails with `DeferredError.abandoned`.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        addOperation(DeferredTaskLocals.carrying(work))
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
