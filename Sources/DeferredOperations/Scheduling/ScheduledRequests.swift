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

/// The requests of a ``DataSourceManager`` that have not finished, and which of them is next.
///
/// A value; the manager keeps it behind its lock. What it removes is still retained by the caller, so that
/// nothing of the user's is deallocated under that.
struct ScheduledRequests: ~Copyable {
    private enum Status {
        /// It waits for its dependencies.
        case dependent
        /// It waits until fewer are executing.
        case waiting
        case underWay
        /// It was cancelled, and is executing beyond the limit, to finish.
        case leaving
    }

    private struct Request {
        let operation: any ScheduledOperation
        let host: String
        let priority: Operation.QueuePriority
        var status: Status
    }

    var limit: Int
    var limitPerHost: Int?
    var isStopped = false
    var stopResolvers: [Resolver<Void>] = []
    private(set) var underWay = 0

    private var requests: [Int: Request] = [:]
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

    mutating func add(
        _ operation: any ScheduledOperation, _ priority: Operation.QueuePriority, isReady: Bool
    ) -> Int {
        nextNumber += 1
        requests[nextNumber] = Request(
            operation: operation, host: operation.host ?? "", priority: priority, status: .dependent)
        numbers[ObjectIdentifier(operation)] = nextNumber
        if isReady { becomeReady(nextNumber) }
        return nextNumber
    }

    mutating func becomeReady(_ number: Int) {
        guard let request = requests[number], request.status == .dependent else { return }
        requests[number]?.status = .waiting
        queues[request.priority.rawValue, default: [:]][request.host, default: []].append(number)
    }

    /// Marks the request of a cancelled operation as leaving, and returns it; nil if it is executing already.
    mutating func leave(_ operation: Operation) -> (any ScheduledOperation)? {
        guard let number = numbers[ObjectIdentifier(operation)], let request = requests[number],
            request.status == .waiting || request.status == .dependent
        else { return nil }
        requests[number]?.status = .leaving
        return request.operation
    }

    mutating func remove(_ operation: Operation) {
        guard let number = numbers.removeValue(forKey: ObjectIdentifier(operation)),
            let request = requests.removeValue(forKey: number), request.status == .underWay
        else { return }
        underWay -= 1
        let left = underWayPerHost[request.host, default: 1] - 1
        underWayPerHost[request.host] = left == 0 ? nil : left
    }

    /// Returns the requests that may execute now; none after a stop, because those that wait are about to be
    /// cancelled.
    mutating func admit() -> [any ScheduledOperation] {
        var admitted: [any ScheduledOperation] = []
        while !isStopped, underWay < limit, let number = takeNext(), let request = requests[number] {
            requests[number]?.status = .underWay
            underWay += 1
            underWayPerHost[request.host, default: 0] += 1
            admitted.append(request.operation)
        }
        return admitted
    }

    /// Dequeues the oldest request of the highest priority whose host is below its limit.
    private mutating func takeNext() -> Int? {
        for priority in queues.keys.sorted(by: >) {
            var next: (host: String, number: Int)?
            for host in Array(queues[priority, default: [:]].keys) {
                var waiting = queues[priority]?[host].take() ?? []
                while let number = waiting.first, !mayStart(number) { waiting.removeFirst() }
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

    private func mayStart(_ number: Int) -> Bool {
        guard let request = requests[number] else { return false }
        return request.status == .waiting && !request.operation.isBeingCancelled
    }

    private func hasRoom(_ host: String) -> Bool {
        guard let limitPerHost, !host.isEmpty else { return true }
        return underWayPerHost[host, default: 0] < limitPerHost
    }
}
