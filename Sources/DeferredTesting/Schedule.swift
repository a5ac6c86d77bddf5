import Deferred

/// The work of a ``ManualClock`` and when it is due.
struct Schedule {
    /// Scheduled work. Released outside of the lock, since its captures are a user's.
    typealias Work = @Sendable () -> Void

    /// Identifies a piece of work, or a watcher.
    typealias Ticket = UInt64

    /// Work by its due time; what is due at one time, in the order in which it was scheduled.
    private struct Item: Comparable, Sendable {
        let due: Duration
        let number: Ticket
        let work: Work

        static func < (a: Item, b: Item) -> Bool { a.due == b.due ? a.number < b.number : a.due < b.due }
        static func == (a: Item, b: Item) -> Bool { a.number == b.number }
    }

    /// Watchers by how much they wait for.
    private struct Watcher: Comparable, Sendable {
        let count: Int
        let number: Ticket
        let resolver: Deferred<Void>.Resolver

        static func < (a: Watcher, b: Watcher) -> Bool { (a.count, a.number) < (b.count, b.number) }
        static func == (a: Watcher, b: Watcher) -> Bool { a.number == b.number }
    }

    /// How many pieces of work run at one moment that were scheduled at that moment.
    static var largestMoment: UInt64 { 100_000 }

    private(set) var now = Duration.zero
    private var items = IndexedHeap<Item>()
    /// Work that waits until the time moves, or until the next call, by its ticket.
    private var postponed: [Ticket: Item] = [:]
    private var watchers = IndexedHeap<Watcher>()
    private var lastNumber: Ticket = 0
    /// Of the work that is due now, what has a higher number is postponed.
    private var lastOfMoment: Ticket = 0

    var count: Int { items.count + postponed.count }

    /// When each piece of work is due, the next first.
    var pending: [Duration] { (items.elements + postponed.values).map { max($0.due, now) }.sorted() }

    mutating func add(_ work: @escaping Work, due: Duration) -> Ticket {
        lastNumber += 1
        items.insert(Item(due: due, number: lastNumber, work: work), lastNumber)
        return lastNumber
    }

    mutating func remove(_ ticket: Ticket) -> Work? {
        (items.remove(ticket) ?? postponed.removeValue(forKey: ticket))?.work
    }

    /// Begins a call that runs work, and returns when it ends.
    mutating func begin(lasting time: Duration) -> Duration {
        beginMoment()
        return now + max(time, .zero)
    }

    private mutating func beginMoment() {
        lastOfMoment = lastNumber + Self.largestMoment
        for item in postponed.values { items.insert(item, item.number) }
        postponed = [:]
    }

    /// When the next work is due; nil if there is none that may run.
    var nextDue: Duration? {
        mutating get { next().map { max($0.due, now) } }
    }

    /// Removes and returns the next work due by `target`, and moves the time on to when it is due. If there is none,
    /// moves the time on to `target`.
    mutating func takeDue(by target: Duration) -> Work? {
        guard let item = next(), item.due <= target else {
            now = max(now, target)
            return nil
        }
        _ = items.popFirst()
        if item.due > now {
            now = item.due
            beginMoment()
        }
        return item.work
    }

    /// Returns the next work that may run.
    private mutating func next() -> Item? {
        while let first = items.first {
            if first.number <= lastOfMoment || first.due > now { return first }
            _ = items.popFirst()
            postponed[first.number] = first
        }
        return nil
    }

    // MARK: Watchers

    var watcherCount: Int { watchers.count }

    mutating func reserveWatcher() -> Ticket {
        lastNumber += 1
        return lastNumber
    }

    mutating func addWatcher(_ number: Ticket, _ count: Int, _ resolver: Deferred<Void>.Resolver) {
        watchers.insert(Watcher(count: count, number: number, resolver: resolver), number)
    }

    mutating func removeWatcher(_ number: Ticket) -> Deferred<Void>.Resolver? {
        watchers.remove(number)?.resolver
    }

    mutating func takeReadyWatchers() -> [Deferred<Void>.Resolver] {
        var ready: [Deferred<Void>.Resolver] = []
        while let first = watchers.first, first.count <= count {
            _ = watchers.popFirst()
            ready.append(first.resolver)
        }
        return ready
    }
}
