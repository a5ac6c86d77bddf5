internal import Deferred
internal import Foundation

/// The operations of a ``DataSourceManager``, from their request to their end.
///
/// An operation enters the queue, which has no limit of its own, when there is a place for it. One that is
/// cancelled before enters at once, without a place, for only the queue can make it finish.
///
/// What may happen is decided in ``Contents``, under the lock; what follows from that is done after it.
final class WaitingLine: RequestObserver {
    struct Entry {
        enum Stage { case dependent, waiting, underWay, leaving }

        let operation: Operation
        let host: String
        let priority: Int
        var stage: Stage
        /// Has the operation enter a queue.
        let enter: @Sendable (OperationQueue) -> Void
    }

    let uses = NetworkUse()
    private let contents: Guarded<Contents>
    private let queue = OperationQueue()
    /// Where it is noticed that the dependencies of an operation have finished.
    private let notices = OperationQueue()

    init(limit: Int, limitPerHost: Int?) {
        contents = Guarded(Contents(limit: limit, limitPerHost: limitPerHost))
    }

    deinit {
        uses.end()
    }

    var limit: Int {
        get { contents.withLock { $0.limit } }
        set { change { $0.limit = newValue } }
    }

    var limitPerHost: Int? {
        get { contents.withLock { $0.limitPerHost } }
        set { change { $0.limitPerHost = newValue } }
    }

    var underWay: Int { contents.withLock { $0.underWay } }

    var waiting: Int {
        contents.withLock { $0.entries.values.count { $0.stage == .waiting || $0.stage == .dependent } }
    }

    /// Whether a data source may be requested here.
    func mayEnter(_ source: Operation) -> Bool {
        contents.withLock { !$0.isStopped }
    }

    func enter<Value>(_ source: RequestOperation<Value>) {
        let unfinished = source.dependencies.filter { !$0.isFinished }
        let entry = Entry(
            operation: source, host: source.host ?? "", priority: source.queuePriority.rawValue,
            stage: unfinished.isEmpty ? .waiting : .dependent, enter: { source.enter($0) })
        let number = contents.withLock { $0.add(entry) }
        if !unfinished.isEmpty {
            let notice = BlockOperation { [weak self] in self?.change { $0.becomeReady(number) } }
            for dependency in unfinished { notice.addDependency(dependency) }
            notices.addOperation(notice)
        }
        // Cancelled, or the manager stopped, before it was in line.
        if contents.withLock({ $0.isStopped }) { source.cancel() }
        if source.isCancelled { requestWasCancelled(source) }
        change { _ in }
    }

    func requestWasCancelled(_ operation: Operation) {
        let entry = contents.withLock { $0.leave(operation) }
        entry?.enter(queue)
    }

    func requestHasFinished(_ operation: Operation) {
        change { $0.remove(operation) }
    }

    func stop() -> Deferred<Void> {
        let (stopped, resolver) = Deferred<Void>.withResolver()
        let operations = contents.withLock { contents in
            contents.isStopped = true
            contents.stopResolvers.append(resolver)
            return contents.entries.values.map(\.operation)
        }
        for operation in operations { operation.cancel() }
        change { _ in }
        return stopped
    }

    /// Makes a change, and does what follows: gives away places, and says what has changed.
    private func change(_ body: (inout Contents) -> Void) {
        let (admitted, isOver, stopped) = contents.withLock { contents in
            let wasInUse = contents.underWay > 0
            body(&contents)
            let admitted = contents.admit()
            // In order: whatever is told next is told later.
            if wasInUse != (contents.underWay > 0) { uses.note(!wasInUse) }
            let isOver = contents.isStopped && contents.entries.isEmpty
            var stopped: [Resolver<Void>] = []
            if isOver { swap(&stopped, &contents.stopResolvers) }
            return (admitted, isOver, stopped)
        }
        for entry in admitted { entry.enter(queue) }
        if isOver { uses.end() }
        for resolver in stopped { resolver.resolve() }
    }
}

extension WaitingLine {
    /// Who is in line, and who is next.
    struct Contents {
        var limit: Int
        var limitPerHost: Int?
        var isStopped = false
        var stopResolvers: [Resolver<Void>] = []
        private(set) var entries: [Int: Entry] = [:]
        private(set) var underWay = 0

        private var nextNumber = 0
        private var numbers: [ObjectIdentifier: Int] = [:]
        private var underWayPerHost: [String: Int] = [:]
        /// Numbers by priority and host, first in first out; those that are no longer waiting are passed
        /// over.
        private var lines: [Int: [String: Line]] = [:]

        init(limit: Int, limitPerHost: Int?) {
            self.limit = limit
            self.limitPerHost = limitPerHost
        }

        mutating func add(_ entry: Entry) -> Int {
            let number = nextNumber
            nextNumber += 1
            entries[number] = entry
            numbers[ObjectIdentifier(entry.operation)] = number
            if entry.stage == .waiting {
                lines[entry.priority, default: [:]][entry.host, default: Line()].append(number)
            }
            return number
        }

        mutating func becomeReady(_ number: Int) {
            guard let entry = entries[number], entry.stage == .dependent else { return }
            entries[number]?.stage = .waiting
            lines[entry.priority, default: [:]][entry.host, default: Line()].append(number)
        }

        /// The entry of a cancelled operation, if it has yet to enter the queue.
        mutating func leave(_ operation: Operation) -> Entry? {
            guard let number = numbers[ObjectIdentifier(operation)], let entry = entries[number],
                entry.stage == .waiting || entry.stage == .dependent
            else { return nil }
            entries[number]?.stage = .leaving
            return entry
        }

        mutating func remove(_ operation: Operation) {
            guard let number = numbers.removeValue(forKey: ObjectIdentifier(operation)),
                let entry = entries.removeValue(forKey: number), entry.stage == .underWay
            else { return }
            underWay -= 1
            underWayPerHost[entry.host, default: 0] -= 1
            if underWayPerHost[entry.host] == 0 { underWayPerHost[entry.host] = nil }
        }

        /// Gives away the places there are; none when it is over, for what still waits is about to be
        /// cancelled.
        mutating func admit() -> [Entry] {
            guard !isStopped else { return [] }
            var admitted: [Entry] = []
            while underWay < limit, let number = takeNext(), let entry = entries[number] {
                entries[number]?.stage = .underWay
                underWay += 1
                underWayPerHost[entry.host, default: 0] += 1
                admitted.append(entry)
            }
            return admitted
        }

        private mutating func takeNext() -> Int? {
            for priority in lines.keys.sorted(by: >) {
                var next: (host: String, number: Int)?
                for host in Array(lines[priority, default: [:]].keys) {
                    guard
                        let number = lines[priority]?[host]?.first(where: { entries[$0]?.stage == .waiting })
                    else {
                        lines[priority]?[host] = nil
                        continue
                    }
                    if hasRoom(host), next.map({ number < $0.number }) ?? true { next = (host, number) }
                }
                if let next {
                    lines[priority]?[next.host]?.removeFirst()
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
    struct Line {
        private var numbers: [Int] = []
        private var start = 0

        mutating func append(_ number: Int) { numbers.append(number) }

        /// The first that is wanted; those before it are dropped.
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
}
