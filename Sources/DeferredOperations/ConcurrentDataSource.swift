public import Deferred
internal import Foundation

/// Work that is started by a function and ends later, as an operation whose outcome is a `Deferred`.
///
/// Subclass it, override ``execute()`` to start the work and ``stop()`` to stop it, and call
/// ``finish(with:)`` when it has ended:
///
/// ```swift
/// final class Connecting: ConcurrentDataSource<Connection>, @unchecked Sendable {
///     let connection = Connection()
///     override func execute() throws {
///         try connection.open { [self] error in
///             finish(with: error.map(Result.failure) ?? .success(connection))
///         }
///     }
///     override func stop() { connection.close() }
/// }
/// ```
///
/// or give it a closure, which starts the work and keeps the resolver for its end.
open class ConcurrentDataSource<Value: Sendable>: RequestOperation<Value>, @unchecked Sendable {
    private struct Contents {
        var body: (@Sendable () throws -> Deferred<Value>)?
        /// What the closure form waits for.
        var inner: Deferred<Value>?
    }

    private let contents: Guarded<Contents>

    /// For subclasses, which override ``execute()`` and ``stop()``.
    public override init() {
        contents = Guarded(Contents())
        super.init()
    }

    /// A data source that takes the outcome of the Deferred that `body` gives.
    ///
    /// - Parameter body: Runs on the queue's thread, once, unless the operation is cancelled before. If the
    ///   operation is cancelled after that, the Deferred is cancelled.
    public init(awaiting body: @escaping @Sendable () throws -> Deferred<Value>) {
        contents = Guarded(Contents(body: body))
        super.init()
    }

    /// A data source whose work `body` starts, and whose outcome comes through the resolver that it is given.
    ///
    /// - Parameters:
    ///   - stop: Called if the operation is cancelled while the work is under way; on the thread that cancels.
    ///   - body: Runs on the queue's thread, once, unless the operation is cancelled before. What it throws is the outcome. If
    ///     the resolver goes before it was fired, the outcome is `DeferredError.abandoned`.
    public convenience init(
        stop: (@Sendable () -> Void)? = nil, _ body: @escaping @Sendable (Resolver<Value>) throws -> Void
    ) {
        self.init(awaiting: { () throws -> Deferred<Value> in
            let (deferred, resolver) = Deferred<Value>.withResolver(canceller: { _ in stop?() })
            try body(resolver)
            return deferred
        })
    }

    /// Starts the work. Override it; do not call `super`.
    ///
    /// Runs on the queue's thread, once, unless the operation is cancelled before. What it throws is the
    /// outcome; otherwise the operation goes on until ``finish(with:)`` is called, which may be before this
    /// returns.
    open func execute() throws {
        guard let body = contents.withLock({ $0.body.take() }) else {
            throw DataSourceError.notOverridden("execute() of \(type(of: self))")
        }
        let inner = try body()
        contents.withLock { $0.inner = inner }
        inner.both { [self] (result: Result<Value, any Error>) -> Void in
            let fired = contents.withLock { $0.inner.take() }
            finish(with: result)
            _ = consume fired
        }
    }

    /// Stops the work, because the operation was cancelled while it was under way. Override it if the work
    /// can be stopped; do not call `super`.
    ///
    /// Runs once, on the thread that cancels, or on the queue's thread if the cancel came while ``execute()``
    /// was running; never before that has returned. The outcome is `CancellationError` in any case, and the
    /// operation does not wait for anything more: what the work still gives is dropped.
    open func stop() {
        contents.withLock { $0.inner }?.cancel()
    }

    /// Ends the operation with what came of the work; to be called once, from any thread.
    ///
    /// - Returns: True if this is the outcome; false if there was one, as after a cancel.
    @discardableResult
    public final func finish(with result: Result<Value, any Error>) -> Bool {
        decide(result)
    }

    final override func work() {
        do { try execute() } catch { decide(.failure(error)) }
    }

    final override func stopWork() {
        stop()
    }
}
