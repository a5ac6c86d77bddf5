public import Deferred
public import Foundation

// Sound as `@unchecked Sendable`: what changes is in `lifecycle`, behind a lock. A subclass is responsible for its own
// variables.
/// The superclass of ``DataSource`` and ``ConcurrentDataSource``: an `Operation` whose outcome is a `Deferred`.
///
/// Subclass one of those two; this class has no initializer for others.
///
/// Four things happen to a request, in any order and on any threads. The operation is finished once all four have
/// happened. So the callbacks have run when `waitUntilAllOperationsAreFinished` returns, and a cancelled operation
/// never finishes before its queue has started it, which `OperationQueue` does not support.
///
/// - *started*: the queue has called `start()`;
/// - *decided*: there is an outcome, from the work or from a cancel, whichever came first;
/// - *idle*: the work has returned, if it was started at all, and so has what stops it because of a cancel;
/// - *delivered*: the Deferred has been settled with the outcome, and the synchronous part of its chain has run.
///
/// Which task-local values closures see is in the article `TaskLocals` of the module `Deferred`.
open class RequestOperation<Value: Sendable>: Operation, ScheduledOperation, @unchecked Sendable {
    private struct Lifecycle: ~Copyable {
        var state = OperationState()
        /// Set once, when the outcome is decided; nil again when the operation has finished, which has no part in a value
        /// that nobody has received (V1).
        var outcome: PassedOutcome<Value>?
        /// Settles the Deferred; nil once a thread does so.
        var resolver: Deferred<Value>.Resolver?
        var requestedAt: Duration?
        /// Decides when the operation is added to a queue, until it has finished.
        var manager: DataSourceManager?
        /// The task-local values of the request's call, which the work sees (X2).
        var values: CarriedValues?
    }

    private let lifecycle = Locked(Lifecycle())

    override init() { super.init() }

    deinit { removeDependencies() }

    // MARK: Requesting

    /// Adds this operation to `queue`, and returns a Deferred with its outcome.
    ///
    /// Cancelling the Deferred and cancelling the operation have the same effect: the Deferred fails with
    /// `CancellationError` at once, whatever the state of the operation, and the operation finishes when its queue has
    /// started it. A suspended queue starts it when it is resumed, a busy one when the operation is next. After the
    /// outcome has been decided, both cancels leave it. One cancel of many requests, as of a `DeferredList`, cancels
    /// those that wait first: of 1,000 transfers, of which the queue runs 8 at once, no further one is sent.
    ///
    /// The operation is executing until the synchronous part of the chain has run. Two queues whose operations deliver
    /// on each other may therefore wait for each other forever, if all their operations are waiting to deliver: deliver
    /// on a dispatch queue instead. Callbacks that block, as `wait()` does, occupy a thread of the pool that all
    /// dispatch queues share; when all threads are blocked, nothing more is delivered.
    ///
    /// - Parameters:
    ///   - queue: Where the work runs; its limits, the operation's priority and dependencies decide when.
    ///   - dispatcher: Where the outcome is delivered, and where callbacks without a dispatcher run. Without
    ///     it, that is the thread on which the work ended or the cancel was called. If it is `queue` itself,
    ///     the callbacks run as part of this operation.
    /// - Returns: A Deferred that cannot be completed otherwise. An operation can be requested once: a second request
    ///   fails with ``DataSourceError/alreadyRequested``, and does not affect the first.
    public final func request(
        on queue: OperationQueue, deliveringOn dispatcher: (any Dispatcher)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        request(on: queue, by: nil, deliveringOn: dispatcher, fileID, line)
    }

    /// Behaves as ``request(on:deliveringOn:fileID:line:)``; a manager adds the operation to its queue now or later.
    final func request(
        on queue: OperationQueue, by manager: DataSourceManager?, deliveringOn dispatcher: (any Dispatcher)?,
        _ fileID: StaticString, _ line: UInt
    ) -> Deferred<Value> {
        let (source, resolver) = Deferred<Value>.withResolver(
            canceller: { [weak self] resolver in self?.cancelRequest(resolver) }, fileID: fileID, line: line)
        source.setIsWaiting { [weak self] in self?.lifecycle.withLock { !$0.state.isStarted } ?? false }
        let values = DeferredTaskLocals.carried
        let acceptance = lifecycle.withLock { lifecycle in
            let acceptance = lifecycle.state.request(isDispatched: dispatcher != nil)
            guard acceptance == .accepted else { return acceptance }
            lifecycle.requestedAt = TransferMetrics.now
            lifecycle.resolver = resolver
            lifecycle.manager = manager
            lifecycle.values = values
            return acceptance
        }
        guard acceptance == .accepted else {
            resolver.reject(DataSourceError.alreadyRequested)
            return source
        }
        var delivered = source
        if let dispatcher {
            // The operation is executing until the outcome has been delivered; if all the operations of a queue waited
            // for further ones of the same queue, none would finish. So its callbacks run on that queue's underlying
            // dispatch queue, as part of this operation.
            let isSame = dispatcher as? OperationQueue === queue
            let target = isSame ? queue.underlyingQueue ?? .global() : dispatcher
            let delivery = Delivery(target: target) { [weak self] in self?.end(.dispatching) }
            // The outcome that was decided, also where the link is cancelled while it waits for its dispatcher.
            delivered = source.passingOn(
                on: delivery, { [weak self] in self?.lifecycle.withLock { $0.outcome } },
                fileID: fileID, line: line)
        }
        didRequest(delivered)
        // Cancelled before it was requested: the Deferred ends at once, and the operation is added for those that
        // depend on it.
        end([])
        if let manager { manager.schedule(self) } else { enter(queue) }
        return delivered
    }

    /// Adds this operation to the queue on which it is to run.
    final func enter(_ queue: OperationQueue) {
        queue.addOperation(self)
        #if !canImport(ObjectiveC)
        // A dependency that finishes, or a cancel, while the operation is being added is lost on
        // swift-corelibs-foundation: it checks again only when notified.
        if !dependencies.isEmpty { didChangeValue(forKey: "isReady") }
        #endif
    }

    /// Whether its Deferred has been cancelled, also if the canceller has not been called yet.
    final var isBeingCancelled: Bool {
        isCancelled || lifecycle.withLock { $0.resolver }?.isCancelled == true
    }

    /// Whether there is an outcome.
    final var isDecided: Bool { lifecycle.withLock { $0.state.isDecided } }

    /// When ``request(on:deliveringOn:fileID:line:)`` was called.
    final var requestedAt: Duration? { lifecycle.withLock { $0.requestedAt } }

    // MARK: Working

    /// Starts the work, and perhaps does all of it; on the queue's thread, once.
    func work() {}

    /// Stops work that has been started and has not ended, because of a cancel; once, never before `work()` has
    /// returned.
    func stopWork() {}

    /// Releases the closure that does the work, which may never have begun. Called once, when the operation finishes.
    func releaseWork() {}

    /// The host that the work is about, for a ``DataSourceManager`` to count.
    var host: String? { nil }

    /// Called once, with the Deferred that the request returns.
    func didRequest(_ request: Deferred<Value>) {}

    /// Called once, after the outcome has been decided; before the Deferred is settled, and perhaps while `work()` is
    /// running.
    func didDecide(_ outcome: Result<Value, any Error>) {}

    /// Decides the outcome; true if this call did.
    @discardableResult
    final func decide(_ result: Result<Value, any Error>) -> Bool { decide(PassedOutcome(result)) }

    /// Decides the outcome, which is passed on: a value is not received (V1).
    final func decide(_ outcome: PassedOutcome<Value>) -> Bool {
        let decision = lifecycle.withLock { lifecycle in
            let decision = lifecycle.state.decide()
            if decision == .isFirst { lifecycle.outcome = outcome }
            return decision
        }
        guard decision == .isFirst else { return false }
        didDecide(outcome.result)
        end(.decision)
        return true
    }

    // MARK: Cancelling

    /// Cancels the request, as cancelling its Deferred does: that fails with `CancellationError`, if the outcome has
    /// not been decided yet. Safe from any thread; after the outcome has been decided this does nothing, and
    /// `isCancelled` stays false.
    public final override func cancel() {
        let cancelled = Result<Value, any Error>.failure(CancellationError())
        let cancellation = lifecycle.withLock { lifecycle in
            let cancellation = lifecycle.state.cancel()
            if cancellation != .isLate { lifecycle.outcome = PassedOutcome(cancelled) }
            return cancellation
        }
        guard cancellation != .isLate else { return }
        super.cancel()
        lifecycle.withLock { $0.manager }?.requestWasCancelled(self)
        didDecide(cancelled)
        if cancellation == .stops { asRequested { stopWork() } }
        end(cancellation == .stops ? [.decision, .stopping] : .decision)
    }

    /// Cancels the operation, because the Deferred is being cancelled.
    ///
    /// An outcome that was decided before stands: if the thread that decided it has not yet settled the Deferred, this
    /// one does. The other's is then the one late result that the Deferred drops without a report (C2).
    private func cancelRequest(_ resolver: Deferred<Value>.Resolver) {
        cancel()
        let undelivered = lifecycle.withLock { $0.state.remaining.contains(.settling) ? $0.outcome : nil }
        if let undelivered { resolver.complete(with: undelivered) }
    }

    // MARK: What the queue sees

    /// Starts the operation. Called by the queue.
    public final override func start() {
        willChangeValue(forKey: "isExecuting")
        let start = lifecycle.withLock { $0.state.start() }
        didChangeValue(forKey: "isExecuting")
        switch start {
        case .isRepeated: break
        case .isDecided: end([])
        case .works:
            asRequested { work() }
            switch lifecycle.withLock({ $0.state.endWork() }) {
            case .isIdle: end([])
            case .stops:
                asRequested { stopWork() }
                end(.stopping)
            }
        }
    }

    /// Notes that something has ended, and does what follows.
    private func end(_ ended: OperationState.Parts) {
        let (next, resolver) = lifecycle.withLock { lifecycle in
            let next = lifecycle.state.end(ended)
            return (next, next == .settle ? lifecycle.resolver.take() : nil)
        }
        switch next {
        case .nothing: break
        case .settle:
            if let resolver { complete(resolver) }
            end(.settling)
        case .finish: finish()
        }
    }

    private func finish() {
        releaseWhatIsKept()
        removeDependencies()
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        lifecycle.withLock { $0.state.finish() }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
        lifecycle.withLock { $0.manager.take() }?.apply(.finished(self))
    }

    /// Completes the Deferred with the outcome. On return nothing here has that any more, but the lifecycle.
    private func complete(_ resolver: Deferred<Value>.Resolver) {
        if let outcome = lifecycle.withLock({ $0.outcome }) { resolver.complete(with: outcome) }
    }

    /// Releases, without the lock, what is the user's: the operation has no further use for it.
    private func releaseWhatIsKept() {
        releaseWork()
        _ = lifecycle.withLock { ($0.outcome.take(), $0.values.take()) }
    }

    /// Runs `body` with the task-local values that the request's call had (X2).
    private func asRequested(_ body: () -> Void) {
        if let values = lifecycle.withLock({ $0.values }) { values.run(body) } else { body() }
    }

    /// True: the work may continue after `start()` has returned.
    public final override var isAsynchronous: Bool { true }

    /// Whether the queue has started it and it has not finished.
    public final override var isExecuting: Bool { lifecycle.withLock { $0.state.isExecuting } }

    /// Whether it has its outcome, the work has ended and the outcome has been delivered.
    public final override var isFinished: Bool { lifecycle.withLock { $0.state.isFinished } }

    /// Removes this operation from the lists of those it depends on.
    ///
    /// swift-corelibs-foundation keeps unretained references there, and uses them when the dependency finishes; those
    /// of an operation that was cancelled before its dependencies had finished would dangle.
    private func removeDependencies() {
        #if !canImport(ObjectiveC)
        for dependency in dependencies { removeDependency(dependency) }
        #endif
    }
}

/// Dispatches one request's outcome to the dispatcher that was named, and notifies the operation when the work has
/// run, or was released without having run.
private struct Delivery: Dispatcher {
    let target: any Dispatcher
    let onEnd: @Sendable () -> Void

    func dispatch(_ work: @escaping @Sendable () -> Void) {
        let end = OneTimeWork(runsOnRelease: true, onEnd)
        target.dispatch {
            work()
            end.run()
        }
    }
}
