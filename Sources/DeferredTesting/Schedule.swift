import Deferred

/// The work of a ``ManualClock`` and when it is due: a heap of tickets by due time. The work is kept beside it, so that
/// cancelled work is released at once; its ticket is skipped later.
struct Schedule {
    /// Scheduled work. Released outside of the lock, since its captures are a user's.
    enum Work: Sendable {
        case dispatched(@Sendable () -> Void)
        case sleep(Sleeper)

        func callAsFunction() {
            switch self {
            case .dispatched(let work): work()
            case .sleep(let sleeper): sleeper.wake()
            }
        }
    }

    struct Ticket: Hashable, Comparable {
        let due: Duration
        let number: UInt64

        static func < (a: Ticket, b: Ticket) -> Bool { (a.due, a.number) < (b.due, b.number) }
    }

    private(set) var now = Duration.zero
    var watchers: [(count: Int, resolver: Resolver<Void>)] = []
    private var heap: [Ticket] = []
    private var work: [Ticket: Work] = [:]
    private var lastNumber: UInt64 = 0

    var count: Int { work.count }

    var pending: [(due: Duration, name: String)] {
        work.sorted { $0.key < $1.key }.map { ticket, work in
            switch work {
            case .dispatched: (ticket.due, "work")
            case .sleep: (ticket.due, "sleep")
            }
        }
    }

    mutating func add(_ item: Work, due: Duration) -> Ticket {
        lastNumber += 1
        let ticket = Ticket(due: due, number: lastNumber)
        work[ticket] = item
        heap.append(ticket)
        siftUp(heap.count - 1)
        return ticket
    }

    mutating func remove(_ ticket: Ticket) -> Work? {
        let removed = work.removeValue(forKey: ticket)
        if heap.count > 64 && heap.count > 2 * work.count {
            // A sorted array is a heap.
            heap = work.keys.sorted()
        }
        return removed
    }

    /// When the next work is due; nil if there is none.
    var nextDue: Duration? {
        mutating get {
            while let first = heap.first {
                if work[first] != nil { return max(first.due, now) }
                removeFirst()
            }
            return nil
        }
    }

    /// Removes and returns the next work due by `target`, and moves the time on to when it is due. If there is none,
    /// moves the time on to `target`.
    mutating func takeDue(by target: Duration) -> Work? {
        while let next = heap.first, next.due <= target {
            removeFirst()
            guard let item = work.removeValue(forKey: next) else { continue }
            now = max(now, next.due)
            return item
        }
        now = max(now, target)
        return nil
    }

    mutating func takeReadyWatchers() -> [Resolver<Void>] {
        guard !watchers.isEmpty else { return [] }
        let count = count
        let ready = watchers.filter { $0.count <= count }
        watchers.removeAll { $0.count <= count }
        return ready.map(\.resolver)
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child] < heap[least] {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0, case let parent = (child - 1) / 2, heap[child] < heap[parent] {
            heap.swapAt(child, parent)
            child = parent
        }
    }
}
