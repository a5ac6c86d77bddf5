internal import Deferred
internal import Foundation

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
    private var queues: [Int: [String: NumberQueue]] = [:]

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
        queues[request.priority, default: [:]][request.host, default: NumberQueue()].append(number)
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
                guard
                    let number = queues[priority]?[host]?.first(where: { requests[$0]?.status == .waiting })
                else {
                    queues[priority]?[host] = nil
                    continue
                }
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

/// Numbers, first in first out.
struct NumberQueue {
    private var numbers: [Int] = []
    private var start = 0

    mutating func append(_ number: Int) { numbers.append(number) }

    /// The first number for which `isWanted` is true; those before it are dropped.
    mutating func first(where isWanted: (Int) -> Bool) -> Int? {
        while start < numbers.count, !isWanted(numbers[start]) { removeFirst() }
        return start < numbers.count ? numbers[start] : nil
    }

    mutating func removeFirst() {
        start += 1
        if start >= 64, start * 2 >= numbers.count {
            numbers.removeSubrange(..<start)
            start = 0
        }
    }
}
