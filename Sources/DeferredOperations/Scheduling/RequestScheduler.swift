internal import Deferred
internal import Foundation

/// Schedules the operations of a ``DataSourceManager``, from their request to their end.
///
/// An operation is added to the queue, which has no limit of its own, when fewer than the limit are executing. One
/// that is cancelled before that is added at once, beyond the limit, because only the queue can make it finish.
///
/// Decisions are made in ``ScheduledRequests``, under the lock; they are carried out after it has been released.
final class RequestScheduler: RequestObserver {
    let networkUse = NetworkUse()
    private let requests: SpinLocked<ScheduledRequests>
    private let queue = OperationQueue()
    /// Runs an operation when the dependencies of a request have finished.
    private let dependencyQueue = OperationQueue()

    init(limit: Int, limitPerHost: Int?) {
        requests = SpinLocked(ScheduledRequests(limit: limit, limitPerHost: limitPerHost))
    }

    deinit {
        networkUse.end()
    }

    var limit: Int {
        get { requests.withLock { $0.limit } }
        set { change { $0.limit = newValue } }
    }

    var limitPerHost: Int? {
        get { requests.withLock { $0.limitPerHost } }
        set { change { $0.limitPerHost = newValue } }
    }

    var underWay: Int { requests.withLock { $0.underWay } }

    var waiting: Int { requests.withLock { $0.waiting } }

    /// Whether requests are still accepted.
    var acceptsRequests: Bool { requests.withLock { !$0.isStopped } }

    func schedule<Value>(_ source: RequestOperation<Value>) {
        let unfinished = source.dependencies.filter { !$0.isFinished }
        let request = ScheduledRequest(
            operation: source, host: source.host ?? "", priority: source.queuePriority.rawValue,
            status: unfinished.isEmpty ? .waiting : .dependent, enter: { source.enter($0) })
        let number = requests.withLock { $0.add(request) }
        if !unfinished.isEmpty {
            let notification = BlockOperation { [weak self] in self?.change { $0.becomeReady(number) } }
            for dependency in unfinished { notification.addDependency(dependency) }
            dependencyQueue.addOperation(notification)
        }
        // Cancelled, or the manager stopped, before it was added.
        if !acceptsRequests { source.cancel() }
        if source.isCancelled { requestWasCancelled(source) }
        change { _ in }
    }

    func requestWasCancelled(_ operation: Operation) {
        let request = requests.withLock { $0.leave(operation) }
        request?.enter(queue)
    }

    func requestHasFinished(_ operation: Operation) {
        change { $0.remove(operation) }
    }

    func stop() -> Deferred<Void> {
        let (stopped, resolver) = Deferred<Void>.withResolver()
        let operations = requests.withLock { requests in
            requests.isStopped = true
            requests.stopResolvers.append(resolver)
            return requests.operations
        }
        for operation in operations { operation.cancel() }
        change { _ in }
        return stopped
    }

    /// Makes a change, then starts the requests that it allows, and notifies observers of changes.
    private func change(_ body: (inout ScheduledRequests) -> Void) {
        let (admitted, isOver, stopped) = requests.withLock { requests in
            let wasInUse = requests.underWay > 0
            body(&requests)
            let admitted = requests.admit()
            // Under the lock, so that notifications are in the order of the changes; listeners run elsewhere.
            if wasInUse != (requests.underWay > 0) { networkUse.note(!wasInUse) }
            let isOver = requests.isStopped && requests.operations.isEmpty
            var stopped: [Resolver<Void>] = []
            if isOver { swap(&stopped, &requests.stopResolvers) }
            return (admitted, isOver, stopped)
        }
        for request in admitted { request.enter(queue) }
        if isOver { networkUse.end() }
        for resolver in stopped { resolver.resolve() }
    }
}
