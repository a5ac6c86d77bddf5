public import Deferred
internal import Foundation

/// Runs data sources, a limited number of them at once: all transfers of a program, for example.
///
/// ```swift
/// let manager = DataSourceManager(limit: 8, limitPerHost: 2)
/// let pages = addresses.map { manager.request(URLDataSource($0)) }
/// ```
///
/// When fewer than ``limit`` are executing, the next one starts: of those whose dependencies have finished, and whose
/// host is below its limit, the one with the highest `queuePriority`; among equals the one requested first. A data
/// source counts until its operation has finished, the synchronous part of its chain included.
public final class DataSourceManager: Sendable {
    // An operation is added to the queue, which has no limit of its own, when fewer than the limit are
    // executing. One that is cancelled before that is added at once, beyond the limit, because only the queue
    // can make it finish. Decisions are made in `ScheduledRequests`, under the lock; they are carried out
    // after it has been released.
    private let requests: Locked<ScheduledRequests>
    private let use = NetworkUse()
    private let queue = OperationQueue()
    /// Runs an operation when the dependencies of a request have finished.
    private let dependencyQueue = OperationQueue()

    /// Creates a manager.
    ///
    /// - Parameters:
    ///   - limit: How many may execute at once; at least 1.
    ///   - limitPerHost: How many of these may be transfers from one host; nil for as many as `limit`. Only
    ///     data sources for URLs have a host.
    public init(limit: Int = 4, limitPerHost: Int? = nil) {
        requests = Locked(ScheduledRequests(limit: limit, limitPerHost: limitPerHost))
    }

    deinit { use.note(false, isLast: true) }

    /// Runs a data source as soon as the limits allow, and returns a Deferred with its outcome, as
    /// `request(on:deliveringOn:)` of the data source itself does.
    ///
    /// After ``stop()`` the Deferred fails with ``DataSourceError/managerStopped``.
    ///
    /// - Parameter dispatcher: Where the outcome is delivered; without it, on the thread on which the work ended or the
    ///   cancel was called.
    public func request<Value: Sendable>(
        _ source: RequestOperation<Value>, deliveringOn dispatcher: (any Dispatcher)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        if requests.withLock({ $0.isStopped }) {
            return .rejected(DataSourceError.managerStopped, fileID: fileID, line: line)
        }
        return source.request(on: queue, by: self, deliveringOn: dispatcher, fileID, line)
    }

    /// Adds an operation to the queue as soon as the limits allow.
    func schedule(_ source: any ScheduledOperation) {
        let unfinished = source.dependencies.filter { !$0.isFinished }
        // A subclass may override it, so it is read without the lock.
        let priority = source.queuePriority
        let request = requests.withLock { $0.add(source, priority, isReady: unfinished.isEmpty) }
        if !unfinished.isEmpty {
            let notification = BlockOperation { [weak self] in self?.apply(.ready(request)) }
            for dependency in unfinished { notification.addDependency(dependency) }
            dependencyQueue.addOperation(notification)
        }
        // Cancelled, or the manager stopped, before it was added.
        if requests.withLock({ $0.isStopped }) { source.cancel() }
        if source.isCancelled { requestWasCancelled(source) }
        apply(.other)
    }

    /// Makes a change, then starts the requests that it allows, and notifies observers of changes.
    ///
    /// Takes a value and no closure, with which it would be compiled anew, for 1 kB, at each call.
    func apply(_ change: ScheduledRequests.Change) {
        let (admitted, stopped) = requests.withLock {
            requests -> ([any ScheduledOperation], [Deferred<Void>.Resolver]?) in
            let wasInUse = requests.inProgressCount > 0
            requests.apply(change)
            let admitted = requests.admit()
            // Under the lock, so that notifications are in the order of the changes; listeners run elsewhere.
            if wasInUse != (requests.inProgressCount > 0) { use.note(!wasInUse) }
            guard requests.isStopped, requests.operations.isEmpty else { return (admitted, nil) }
            defer { requests.stopResolvers = [] }
            return (admitted, requests.stopResolvers)
        }
        for operation in admitted { operation.enter(queue) }
        if let stopped {
            use.note(false, isLast: true)
            for resolver in stopped { resolver.resolve() }
        }
    }

    /// How many may execute at once. A lower limit leaves those that are executing.
    public var limit: Int {
        get { requests.withLock { $0.limit } }
        set { apply(.limit(newValue)) }
    }

    /// How many may execute at once from one host; nil for as many as ``limit``.
    public var limitPerHost: Int? {
        get { requests.withLock { $0.limitPerHost } }
        set { apply(.limitPerHost(newValue)) }
    }

    /// How many are executing.
    public var inProgressCount: Int { requests.withLock { $0.inProgressCount } }

    /// How many wait for the limits or for a dependency.
    public var waitingCount: Int { requests.withLock { $0.waitingCount } }

    /// Whether anything is executing, as the network indicator of a status bar shows it.
    public var isNetworkInUse: Bool { inProgressCount > 0 }

    /// A stream of ``isNetworkInUse``: its present value, and each change. Ends when the manager has stopped or is
    /// deallocated.
    public var networkUse: AsyncStream<Bool> { use.stream() }

    /// Cancels all data sources, those that are executing and those that wait, and accepts no more. Returns a Deferred
    /// that is resolved when all of them have finished.
    ///
    /// Further calls return another Deferred that is resolved at the same time.
    public func stop() -> Deferred<Void> {
        let (stopped, resolver) = Deferred<Void>.withResolver()
        let operations = requests.withLock { requests in
            requests.isStopped = true
            requests.stopResolvers.append(resolver)
            return requests.operations
        }
        for operation in operations { operation.cancel() }
        apply(.other)
        return stopped
    }

    /// Called when an operation was cancelled before it had an outcome: it has to be added to the queue to finish.
    func requestWasCancelled(_ operation: Operation) {
        requests.withLock { $0.leave(operation) }?.enter(queue)
    }
}

/// Notifies listeners of whether the network is in use: of the present state, and of each change.
///
/// Sound as `@unchecked Sendable`: the variables are accessed only on `queue`.
final class NetworkUse: @unchecked Sendable {
    private var isInUse = false
    private var hasEnded = false
    private(set) var listeners: [(id: UUID, continuation: AsyncStream<Bool>.Continuation)] = []
    /// Listeners are notified here: in order, and without delaying the caller.
    let queue = DispatchQueue(label: "DeferredOperations.NetworkUse")

    /// Returns a stream of the present state and of each change.
    func stream() -> AsyncStream<Bool> {
        let (stream, continuation) = AsyncStream<Bool>.makeStream()
        let id = UUID()
        // A stream that is dropped is released at once, so that such streams do not add up.
        continuation.onTermination = { [weak self] _ in
            self?.queue.async { [weak self] in self?.listeners.removeAll { $0.id == id } }
        }
        queue.async { [self] in
            continuation.yield(isInUse)
            if hasEnded { continuation.finish() } else { listeners.append((id, continuation)) }
        }
        return stream
    }

    /// Notifies the listeners of a change, or ends all streams.
    func note(_ isInUse: Bool, isLast: Bool = false) {
        queue.async { [self] in
            (self.isInUse, hasEnded) = (isInUse, hasEnded || isLast)
            for listener in listeners {
                if isLast { listener.continuation.finish() } else { listener.continuation.yield(isInUse) }
            }
            if isLast { listeners = [] }
        }
    }
}
