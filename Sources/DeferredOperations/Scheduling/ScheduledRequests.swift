internal import Deferred
internal import Foundation

/// An operation of a ``DataSourceManager``.
protocol ScheduledOperation: Operation {
    /// The host that counts; nil for none.
    var host: String? { get }
    /// Whether a cancel of it is on its way: one cancel may reach many requests, and none starts because
    /// another has ended (C7).
    var isBeingCancelled: Bool { get }
    func enter(_ queue: OperationQueue)
}

/// A request of a ``DataSourceManager`` that has not finished.
///
/// Sound as `@unchecked Sendable`: the variables are accessed under the lock of the ``ScheduledRequests``.
final class ScheduledRequest: @unchecked Sendable {
    fileprivate enum Status {
        /// It waits for its dependencies.
        case dependent
        /// It waits until fewer are executing.
        case waiting
        case inProgress
        /// It was cancelled, and is executing beyond the limit, to finish.
        case leaving
    }

    /// Nil once it has finished: what is released under the lock is never the last reference to it.
    fileprivate var operation: (any ScheduledOperation)?
    fileprivate var status = Status.dependent
    fileprivate let host: String
    fileprivate let priority: Int
    /// Its position in the order of the requests.
    fileprivate let number: Int

    fileprivate init(_ operation: any ScheduledOperation, _ priority: Int, _ number: Int) {
        self.operation = operation
        self.host = operation.host ?? ""
        self.priority = priority
        self.number = number
    }

    fileprivate var mayStart: Bool { status == .waiting && operation?.isBeingCancelled == false }

    fileprivate func precedes(_ other: ScheduledRequest) -> Bool {
        (other.priority, number) < (priority, other.number)
    }
}

/// The requests of a ``DataSourceManager`` that have not finished, and which of them is next.
///
/// A value; the manager keeps it behind its lock. What it removes is still retained by the caller, so that
/// nothing of the user's is deallocated under that.
struct ScheduledRequests: ~Copyable {
    private(set) var limit: Int
    private(set) var limitPerHost: Int?
    var isStopped = false
    var stopResolvers: [Deferred<Void>.Resolver] = []
    private(set) var inProgressCount = 0

    private var requests: [ObjectIdentifier: ScheduledRequest] = [:]
    private var requestCount = 0
    private var inProgressPerHost: [String: Int] = [:]
    /// The waiting requests by host, those that come first in front; those that no longer wait are skipped.
    private var queues: [String: ArraySlice<ScheduledRequest>] = [:]

    init(limit: Int, limitPerHost: Int?) {
        self.limit = max(1, limit)
        self.limitPerHost = limitPerHost.map { max(1, $0) }
    }

    var operations: [Operation] { requests.values.compactMap(\.operation) }

    var waitingCount: Int { requests.values.count { $0.status == .waiting || $0.status == .dependent } }

    mutating func add(
        _ operation: any ScheduledOperation, _ priority: Operation.QueuePriority, isReady: Bool
    ) -> ScheduledRequest {
        requestCount += 1
        let request = ScheduledRequest(operation, priority.rawValue, requestCount)
        requests[ObjectIdentifier(operation)] = request
        if isReady { becomeReady(request) }
        return request
    }

    /// What the requests that may execute depend on.
    enum Change {
        case limit(Int)
        case limitPerHost(Int?)
        /// The dependencies of a request have finished.
        case ready(ScheduledRequest)
        case finished(Operation)
        /// One was added, or all were cancelled.
        case other
    }

    mutating func apply(_ change: Change) {
        switch change {
        case .limit(let limit): self.limit = max(1, limit)
        case .limitPerHost(let limit): limitPerHost = limit.map { max(1, $0) }
        case .ready(let request): becomeReady(request)
        case .finished(let operation): remove(operation)
        case .other: break
        }
    }

    private mutating func becomeReady(_ request: ScheduledRequest) {
        guard request.status == .dependent else { return }
        request.status = .waiting
        var queue = queues[request.host].take() ?? []
        let end = queue.lastIndex { $0.precedes(request) }.map { $0 + 1 } ?? queue.startIndex
        queue.insert(request, at: end)
        queues[request.host] = queue
    }

    /// Marks the request of a cancelled operation as leaving, and returns it; nil if it is executing already.
    mutating func leave(_ operation: Operation) -> (any ScheduledOperation)? {
        guard let request = requests[ObjectIdentifier(operation)],
            request.status == .waiting || request.status == .dependent
        else { return nil }
        request.status = .leaving
        return request.operation
    }

    private mutating func remove(_ operation: Operation) {
        guard let request = requests.removeValue(forKey: ObjectIdentifier(operation)) else { return }
        request.operation = nil
        guard request.status == .inProgress else { return }
        inProgressCount -= 1
        let left = inProgressPerHost[request.host, default: 1] - 1
        inProgressPerHost[request.host] = left == 0 ? nil : left
    }

    /// Returns the requests that may execute now; none after a stop, because those that wait are about to be
    /// cancelled.
    mutating func admit() -> [any ScheduledOperation] {
        var admitted: [any ScheduledOperation] = []
        while !isStopped, inProgressCount < limit, let request = takeNext(), let operation = request.operation
        {
            request.status = .inProgress
            inProgressCount += 1
            inProgressPerHost[request.host, default: 0] += 1
            admitted.append(operation)
        }
        return admitted
    }

    /// Dequeues the oldest request of the highest priority whose host is below its limit.
    private mutating func takeNext() -> ScheduledRequest? {
        var next: ScheduledRequest?
        for host in Array(queues.keys) {
            var queue = queues[host].take() ?? []
            while let first = queue.first, !first.mayStart { queue.removeFirst() }
            guard let first = queue.first else { continue }
            queues[host] = queue
            let hasRoom = host.isEmpty || inProgressPerHost[host, default: 0] < limitPerHost ?? .max
            if hasRoom, next.map(first.precedes) ?? true { next = first }
        }
        if let next { queues[next.host]?.removeFirst() }
        return next
    }
}
