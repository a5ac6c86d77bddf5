import Deferred

/// The work of a ``ManualClock`` and when it is due: tickets by due time. The work is kept beside them, so that
/// cancelled work is released at once; its ticket is skipped later.
struct Schedule {
    /// Scheduled work. Released outside of the lock, since its captures are a user's.
    typealias Work = @Sendable () -> Void

    struct Ticket: Hashable, Comparable {
        let due: Duration
        let number: UInt64

        static func < (a: Ticket, b: Ticket) -> Bool { (a.due, a.number) < (b.due, b.number) }
    }

    /// How many pieces of work run at one moment that were scheduled at that moment.
    static var largestMoment: UInt64 { 100_000 }

    private(set) var now = Duration.zero
    var watchers: [(count: Int, resolver: Deferred<Void>.Resolver)] = []
    /// What is due first is last. Sorted when it is next read: in one pass, where little was added since.
    private var tickets: [Ticket] = []
    private var isSorted = true
    private var work: [Ticket: Work] = [:]
    private var lastNumber: UInt64 = 0
    /// Work with a higher number waits until the time moves, or until the next call.
    private var lastOfMoment: UInt64 = 0

    var count: Int { work.count }

    /// When each piece of work is due, the next first.
    var pending: [Duration] { work.keys.map { max($0.due, now) }.sorted() }

    mutating func add(_ item: @escaping Work, due: Duration) -> Ticket {
        lastNumber += 1
        let ticket = Ticket(due: due, number: lastNumber)
        work[ticket] = item
        if let next = tickets.last, next < ticket { isSorted = false }
        tickets.append(ticket)
        return ticket
    }

    mutating func remove(_ ticket: Ticket) -> Work? {
        let removed = work.removeValue(forKey: ticket)
        if tickets.count > 64 && tickets.count > 2 * work.count { tickets.removeAll { work[$0] == nil } }
        return removed
    }

    /// Begins a call that runs work, and returns when it ends.
    mutating func begin(lasting time: Duration) -> Duration {
        beginMoment()
        return now + max(time, .zero)
    }

    private mutating func beginMoment() { lastOfMoment = lastNumber + Self.largestMoment }

    /// When the next work is due; nil if there is none that may run.
    var nextDue: Duration? {
        mutating get { next().map { max(tickets[$0].due, now) } }
    }

    /// Removes and returns the next work due by `target`, and moves the time on to when it is due. If there is none,
    /// moves the time on to `target`.
    mutating func takeDue(by target: Duration) -> Work? {
        guard let place = next(), tickets[place].due <= target else {
            now = max(now, target)
            return nil
        }
        let ticket = tickets.remove(at: place)
        if ticket.due > now {
            now = ticket.due
            beginMoment()
        }
        return work.removeValue(forKey: ticket)
    }

    /// Returns the place of the ticket of the next work that may run.
    private mutating func next() -> Int? {
        if !isSorted { tickets.sort(by: >) }
        isSorted = true
        while let last = tickets.last, work[last] == nil { tickets.removeLast() }
        return tickets.lastIndex { work[$0] != nil && ($0.number <= lastOfMoment || $0.due > now) }
    }

    mutating func takeReadyWatchers() -> [Deferred<Void>.Resolver] {
        let count = count
        defer { watchers.removeAll { $0.count <= count } }
        return watchers.filter { $0.count <= count }.map(\.resolver)
    }
}
