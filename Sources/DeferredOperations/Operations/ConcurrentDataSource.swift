public import Deferred
internal import Foundation

// Sound as `@unchecked Sendable`: what changes is behind the lock of `pending`.
/// Represents work that is started by a function and ends later, as an operation whose outcome is a `Deferred`.
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
/// or create it with a closure, which starts the work and keeps the resolver for its end.
open class ConcurrentDataSource<Value: Sendable>: RequestOperation<Value>, @unchecked Sendable {
    /// The closure, until it is called, and its consumer of the Deferred that it waits for.
    private let pending = Locked<(body: (@Sendable () throws -> Deferred<Value>)?, link: Deferred<Void>?)>(
        (nil, nil))

    /// Creates a data source of a subclass, which overrides ``execute()`` and ``stop()``.
    public override init() { super.init() }

    /// Creates a data source whose outcome is that of the Deferred that `body` returns.
    ///
    /// - Parameter body: Runs on the queue's thread, once, unless the operation is cancelled before. If the
    ///   operation is cancelled after that, the Deferred is cancelled, unless it has other consumers.
    public init(awaiting body: @escaping @Sendable () throws -> Deferred<Value>) {
        super.init()
        pending.withLock { $0.body = body }
    }

    /// Creates a data source whose work `body` starts, and whose outcome is that of the resolver that `body` receives.
    ///
    /// - Parameters:
    ///   - stop: Called if the operation is cancelled while it is executing; on the thread that cancels.
    ///   - body: Runs on the queue's thread, once, unless the operation is cancelled before. What it throws
    ///     is the outcome. If the resolver is released without having been completed, the outcome is
    ///     `DeferredError.abandoned`.
    public convenience init(
        stop: (@Sendable () -> Void)? = nil,
        _ body: @escaping @Sendable (Deferred<Value>.Resolver) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(awaiting: { () throws -> Deferred<Value> in
            let (deferred, resolver) = Deferred<Value>.withResolver(
                canceller: { _ in stop?() }, fileID: fileID, line: line)
            try body(resolver)
            return deferred
        })
    }

    /// Starts the work. Override it; do not call `super`.
    ///
    /// Runs on the queue's thread, once, unless the operation is cancelled before. What it throws is the
    /// outcome; otherwise the operation is executing until ``finish(with:)`` is called, which may be before this
    /// returns.
    open func execute() throws {
        guard let body = pending.withLock({ $0.body.take() }) else {
            throw DataSourceError.notOverridden("execute() of \(type(of: self))")
        }
        // A cancel is the link's, so that others who use the Deferred keep it (C3).
        // It passes the outcome on: a value that nobody receives from the operation is given back (V1).
        let link = try body().mapOutcome { [self] outcome in _ = decide(outcome) }
        pending.withLock { $0.link = link }
    }

    /// Stops the work, because the operation was cancelled while it was executing. Override it if the work can be
    /// stopped; do not call `super`.
    ///
    /// Runs once, on the thread that cancels, or on the queue's thread if the operation was cancelled while
    /// ``execute()`` was running; never before that has returned. The outcome is `CancellationError` in any
    /// case, and the operation does not wait for the work: its result is dropped.
    open func stop() { pending.withLock { $0.link }?.cancel() }

    /// Ends the operation with the result of the work. To be called once, from any thread.
    ///
    /// - Returns: True if this is the outcome; false if one had been decided before, by a cancel for example.
    @discardableResult
    public final func finish(with result: Result<Value, any Error>) -> Bool {
        decide(result)
    }

    // Not `execute()` itself with an internal declaration in the superclass: where a subclass of this module and one of
    // another module both override it, Swift 6.3 calls the former.
    final override func work() {
        do { try execute() } catch { decide(.failure(error)) }
    }

    final override func stopWork() { stop() }

    final override func releaseWork() {
        _ = pending.withLock { pending in
            defer { pending = (nil, nil) }
            return pending
        }
    }
}
