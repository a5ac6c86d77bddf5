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
    private let requests: Locked<ScheduledRequests>
    private let queue = OperationQueue()
    /// Runs an operation when the dependencies of a request have finished.
    private let dependencyQueue = OperationQueue()

    init(limit: Int, limitPerHost: Int?) {
        requests = Locked(ScheduledRequests(limit: limit, limitPerHost: limitPerHost))
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
            status: unfinished.isEmpty ? .waiting : .dependent, enter: { source.enter($0) },
            isCancelled: { source.isBeingCancelled })
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

/// A request of a ``DataSourceManager`` that has not finished.
struct ScheduledRequest {
    enum Status {
        /// It waits for its dependencies.
        case dependent
        /// It waits until fewer are executing.
        case waiting
        case underWay
        /// It was cancelled, and is executing beyond the limit, to finish.
        case leaving
    }

    let operation: Operation
    let host: String
    let priority: Int
    var status: Status
    /// Adds the operation to a queue.
    let enter: @Sendable (OperationQueue) -> Void
    /// Whether a cancel of it is on its way: one cancel may reach many requests, and none starts because another has ended
    /// (C7).
    let isCancelled: @Sendable () -> Bool

    var isWaiting: Bool { status == .waiting && !isCancelled() }
}

/// The requests of a ``DataSourceManager``, and which of them is next.
///
/// A value; ``RequestScheduler`` keeps it behind its lock. What it removes is still retained by the caller, so that
/// nothing of the user's is deallocated under that.
struct ScheduledRequests {
    var limit: Int
    var limitPerHost: Int?
    var isStopped = false
    var stopResolvers: [Resolver<Void>] = []
    private(set) var underWay = 0

    private var requests: [Int: ScheduledRequest] = [:]
    private var nextNumber = 0
    private var numbers: [ObjectIdentifier: Int] = [:]
    private var underWayPerHost: [String: Int] = [:]
    /// The numbers of waiting requests by priority and host; those that no longer wait are skipped.
    private var queues: [Int: [String: ArraySlice<Int>]] = [:]

    init(limit: Int, limitPerHost: Int?) {
        self.limit = limit
        self.limitPerHost = limitPerHost
    }

    var operations: [Operation] { requests.values.map(\.operation) }

    var waiting: Int { requests.values.count { $0.status == .waiting || $0.status == .dependent } }

    mutating func add(_ request: ScheduledRequest) -> Int {
        let number = nextNumber
        nextNumber += 1
        requests[number] = request
        numbers[ObjectIdentifier(request.operation)] = number
        if request.status == .waiting { enqueue(number, request) }
        return number
    }

    mutating func becomeReady(_ number: Int) {
        guard let request = requests[number], request.status == .dependent else { return }
        requests[number]?.status = .waiting
        enqueue(number, request)
    }

    private mutating func enqueue(_ number: Int, _ request: ScheduledRequest) {
        queues[request.priority, default: [:]][request.host, default: []].append(number)
    }

    /// Marks the request of a cancelled operation as leaving, and returns it; nil if it is executing already.
    mutating func leave(_ operation: Operation) -> ScheduledRequest? {
        guard let number = numbers[ObjectIdentifier(operation)], let request = requests[number],
            request.status == .waiting || request.status == .dependent
        else { return nil }
        requests[number]?.status = .leaving
        return request
    }

    mutating func remove(_ operation: Operation) {
        guard let number = numbers.removeValue(forKey: ObjectIdentifier(operation)),
            let request = requests.removeValue(forKey: number), request.status == .underWay
        else { return }
        underWay -= 1
        underWayPerHost[request.host, default: 0] -= 1
        if underWayPerHost[request.host] == 0 { underWayPerHost[request.host] = nil }
    }

    /// Returns the requests that may execute now; none after a stop, because those that wait are about to be
    /// cancelled.
    mutating func admit() -> [ScheduledRequest] {
        guard !isStopped else { return [] }
        var admitted: [ScheduledRequest] = []
        while underWay < limit, let number = takeNext(), let request = requests[number] {
            requests[number]?.status = .underWay
            underWay += 1
            underWayPerHost[request.host, default: 0] += 1
            admitted.append(request)
        }
        return admitted
    }

    /// Dequeues the oldest request of the highest priority whose host is below its limit.
    private mutating func takeNext() -> Int? {
        for priority in queues.keys.sorted(by: >) {
            var next: (host: String, number: Int)?
            for host in Array(queues[priority, default: [:]].keys) {
                var waiting = queues[priority]?[host].take() ?? []
                while let number = waiting.first, requests[number]?.isWaiting != true {
                    waiting.removeFirst()
                }
                guard let number = waiting.first else { continue }
                queues[priority]?[host] = waiting
                if hasRoom(host), next.map({ number < $0.number }) ?? true { next = (host, number) }
            }
            if let next {
                queues[priority]?[next.host]?.removeFirst()
                return next.number
            }
        }
        return nil
    }

    private func hasRoom(_ host: String) -> Bool {
        guard let limitPerHost, !host.isEmpty else { return true }
        return underWayPerHost[host, default: 0] < limitPerHost
    }
}
