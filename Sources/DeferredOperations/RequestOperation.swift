public import Deferred
public import Foundation

/// Who keeps an operation out of its queue until it has a place there.
protocol RequestObserver: AnyObject, Sendable {
    /// It was cancelled before it had an outcome, on this thread, and may have to enter its queue to leave
    /// it.
    func requestWasCancelled(_ operation: Operation)
    /// It has finished.
    func requestHasFinished(_ operation: Operation)
}

/// What ``DataSource`` and ``ConcurrentDataSource`` have in common: an `Operation` whose outcome is a
/// `Deferred`.
///
/// Subclass one of those two; this class has no initializer for others.
///
/// Four things happen to a request, in any order and on any threads; the operation is `isFinished` once all
/// have, so that `waitUntilAllOperationsAreFinished` means that callbacks ran (O1), and a cancelled operation
/// never leaves its queue before the queue has started it, which `OperationQueue` does not survive:
///
/// - *started*: the queue has called `start()`;
/// - *decided*: there is an outcome, from the work or from a cancel, whichever came first; a cancel counts
///   from then on, whatever the queue and the work are still doing (O2);
/// - *idle*: the work has returned, if it was begun at all;
/// - *delivered*: the Deferred has been fired with the outcome, and the synchronous part of its chain has
///   run.
///
/// Sound as `@unchecked Sendable`, as far as this class goes: what changes is in `lifecycle`, behind a lock.
open class RequestOperation<Value: Sendable>: Operation, @unchecked Sendable {
    private struct Lifecycle {
        var requestedAt: ContinuousClock.Instant?
        var isStarted = false
        var isWorking = false
        var mustStopWhenIdle = false
        var outcome: Result<Value, any Error>?
        /// What fires the Deferred; kept until it has been called and come back.
        var resolver: Resolver<Value>?
        var isFiring = false
        /// Whether a dispatcher has yet to run what was handed to it.
        var awaitsDispatcher = false
        var observer: (any RequestObserver)?
        var isFinishing = false
        var isFinished = false

        var isDone: Bool { isStarted && !isWorking && outcome != nil && resolver == nil && !awaitsDispatcher }
    }

    private let lifecycle = Guarded(Lifecycle())

    override init() {
        super.init()
    }

    #if !canImport(ObjectiveC)
    deinit {
        letGoOfDependencies()
    }
    #endif

    // MARK: Requesting

    /// Adds this operation to `queue`, and gives what will come of it.
    ///
    /// Cancelling the Deferred and cancelling the operation come to the same: the Deferred fails with
    /// `CancellationError` at once, wherever the operation stands; the operation finishes as soon as its
    /// queue lets it, which in a suspended queue, or one whose places are taken, is when the queue comes to
    /// it.
    ///
    /// The queue counts this operation as under way until the synchronous part of the chain has run.
    ///
    /// - Parameters:
    ///   - queue: Where the work runs; its limits, the operation's priority and dependencies decide when.
    ///   - dispatcher: Where the outcome is delivered and what hangs on the Deferred runs. Without, that is the thread on
    ///     which the work ended or the cancel came. If it is `queue` itself, callbacks run in this operation's own place
    ///     there.
    /// - Returns: A Deferred of its own. An operation can be requested once: after that, the Deferred fails
    ///   with ``DataSourceError/alreadyRequested``, and the first request is not disturbed.
    public final func request(
        on queue: OperationQueue, deliveringOn dispatcher: (any Dispatcher)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        request(deliveringOn: dispatcher, withPlaceIn: queue, observer: nil, fileID, line) { $0.enter(queue) }
    }

    /// As ``request(on:deliveringOn:fileID:line:)``, with `submit` to see to it that the operation enters a
    /// queue.
    final func request(
        deliveringOn dispatcher: (any Dispatcher)?, withPlaceIn queue: OperationQueue?,
        observer: (any RequestObserver)?, _ fileID: StaticString, _ line: UInt,
        submit: (RequestOperation<Value>) -> Void
    ) -> Deferred<Value> {
        let (source, resolver) = Deferred<Value>.withResolver(
            canceller: { [weak self] _ in self?.cancelRequest() }, fileID: fileID, line: line)
        let isAccepted = lifecycle.withLock { lifecycle in
            guard lifecycle.requestedAt == nil, !lifecycle.isStarted else { return false }
            lifecycle.requestedAt = .now
            lifecycle.resolver = resolver
            lifecycle.awaitsDispatcher = dispatcher != nil
            lifecycle.observer = observer
            return true
        }
        guard isAccepted else {
            resolver.reject(DataSourceError.alreadyRequested)
            return source
        }
        var delivered = source
        if let dispatcher {
            let delivery = Delivery(for: self, on: dispatcher, of: queue)
            delivered = source.both(on: delivery, { try $0.get() }, fileID: fileID, line: line)
        }
        // Cancelled before it was requested: it ends at once, and passes through the queue only for those
        // that depend on it.
        fire()
        submit(self)
        return delivered
    }

    /// Adds this operation to the queue on which it is to run.
    final func enter(_ queue: OperationQueue) {
        queue.addOperation(self)
        #if !canImport(ObjectiveC)
        // A dependency that finishes, or a cancel, while the operation is being added is lost on
        // swift-corelibs-foundation: it looks again only when told to.
        if !dependencies.isEmpty { didChangeValue(forKey: "isReady") }
        #endif
    }

    /// When ``request(on:deliveringOn:fileID:line:)`` was called.
    final var requestedAt: ContinuousClock.Instant? { lifecycle.withLock { $0.requestedAt } }

    // MARK: Working

    /// Begins the work, and perhaps does all of it; on the queue's thread, once.
    func work() {}

    /// Stops work that has been begun and has not ended, because of a cancel; once, never before `work()` has
    /// returned.
    func stopWork() {}

    /// The host that the work is about, for a ``DataSourceManager`` to count.
    var host: String? { nil }

    /// Stops what this module has under way for the operation, because of a cancel, before the Deferred ends;
    /// perhaps while `work()` is running, and more than once.
    func cutShort() {}

    /// Decides the outcome; true if this call did.
    @discardableResult
    final func decide(_ outcome: Result<Value, any Error>) -> Bool {
        let isFirst = lifecycle.withLock { lifecycle in
            guard lifecycle.outcome == nil else { return false }
            lifecycle.outcome = outcome
            return true
        }
        if isFirst { fire() }
        return isFirst
    }

    /// Fires the Deferred, if there are an outcome and a Deferred that has not been fired.
    private func fire() {
        let pending: (Resolver<Value>, Result<Value, any Error>)? = lifecycle.withLock { lifecycle in
            guard let outcome = lifecycle.outcome, let resolver = lifecycle.resolver, !lifecycle.isFiring
            else { return nil }
            lifecycle.isFiring = true
            return (resolver, outcome)
        }
        if let (resolver, outcome) = pending {
            resolver.complete(with: outcome)
            // The operation's own reference; the last one is let go outside the lock.
            lifecycle.withLock { $0.resolver = nil }
        }
        finishIfDone()
    }

    /// The dispatcher has run what was handed to it, or has let go of it.
    final func noteDispatched() {
        lifecycle.withLock { $0.awaitsDispatcher = false }
        finishIfDone()
    }

    // MARK: Cancelling

    /// Cancels the request: the Deferred fails with `CancellationError` now, if it has no outcome yet. Safe
    /// from any thread; cancelling what has its outcome does nothing.
    public final override func cancel() {
        let (isFirst, isStarted, stopsNow) = lifecycle.withLock { lifecycle in
            guard lifecycle.outcome == nil else { return (false, false, false) }
            lifecycle.outcome = .failure(CancellationError())
            lifecycle.mustStopWhenIdle = lifecycle.isWorking
            return (true, lifecycle.isStarted, lifecycle.isStarted && !lifecycle.isWorking)
        }
        super.cancel()
        guard isFirst else { return }
        lifecycle.withLock { $0.observer }?.requestWasCancelled(self)
        if isStarted { cutShort() }
        if stopsNow { stopWork() }
        fire()
    }

    /// The Deferred is being cancelled.
    ///
    /// If the outcome had been decided, but whoever did that has not come to fire the Deferred, it is fired
    /// here: an outcome that was decided before the cancel stands. That other's firing is then the one late
    /// result that the Deferred drops without a word after a cancel.
    private func cancelRequest() {
        cancel()
        let undelivered = lifecycle.withLock { lifecycle in
            lifecycle.resolver.flatMap { resolver in lifecycle.outcome.map { (resolver, $0) } }
        }
        if let (resolver, outcome) = undelivered { resolver.complete(with: outcome) }
    }

    // MARK: What the queue sees

    /// Called by the queue.
    public final override func start() {
        willChangeValue(forKey: "isExecuting")
        let (isFirst, mustWork) = lifecycle.withLock { lifecycle in
            guard !lifecycle.isStarted else { return (false, false) }
            lifecycle.isStarted = true
            lifecycle.isWorking = lifecycle.outcome == nil
            return (true, lifecycle.isWorking)
        }
        didChangeValue(forKey: "isExecuting")
        guard isFirst else { return }
        if mustWork {
            work()
            let mustStop = lifecycle.withLock { lifecycle in
                lifecycle.isWorking = false
                return lifecycle.mustStopWhenIdle
            }
            if mustStop { stopWork() }
        }
        finishIfDone()
    }

    private func finishIfDone() {
        let isDone = lifecycle.withLock { lifecycle in
            guard lifecycle.isDone, !lifecycle.isFinishing else { return false }
            // Nobody else gets past here; `isFinished` itself must change between the two notifications.
            lifecycle.isFinishing = true
            return true
        }
        guard isDone else { return }
        #if !canImport(ObjectiveC)
        letGoOfDependencies()
        #endif
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        lifecycle.withLock { $0.isFinished = true }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
        lifecycle.withLock { $0.observer.take() }?.requestHasFinished(self)
    }

    /// True: the work may go on after `start()` has returned.
    public final override var isAsynchronous: Bool { true }

    /// Whether the queue has started it and it has not finished.
    public final override var isExecuting: Bool { lifecycle.withLock { $0.isStarted && !$0.isFinished } }

    /// Whether it has its outcome, the work has ended and the outcome has been delivered.
    public final override var isFinished: Bool { lifecycle.withLock { $0.isFinished } }

    #if !canImport(ObjectiveC)
    /// Takes this operation off the lists of those it depends on.
    ///
    /// swift-corelibs-foundation keeps unretained references there, and follows them when the dependency
    /// finishes; those of an operation that was cancelled before its dependencies were done would dangle.
    private func letGoOfDependencies() {
        for dependency in dependencies { removeDependency(dependency) }
    }
    #endif
}
