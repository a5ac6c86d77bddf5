extension DeferredSemaphore {
    /// A call that waits for so many units.
    typealias Waiter = (units: Int, resolver: Deferred<Permit>.Resolver)

    /// Which units are in use, and which calls wait for some: changed by the transitions below, each of which is one
    /// critical section and says what is to be done after it.
    struct State {
        private(set) var limit: Int
        /// How many units are in use: more than the limit after that has been lowered.
        private(set) var used = 0
        /// Those that wait, in the order in which they came (Q1).
        private(set) var waiters = CancellableFIFO<Waiter>()
        /// No caller waits for more units.
        private var mostUnits = 0
        /// The threads that grant permits. On these, a permit that is released is granted by the loop further up the
        /// stack (no recursion).
        private var grantingThreads: [UInt] = []

        init(limit: Int) { self.limit = limit }

        /// How many units are free. No sum or difference overflows: no more than the limit is ever taken.
        var free: Int { limit < 1 ? 0 : max(0, limit - used) }

        /// Why so many units can never be granted; nil if they can.
        private static func fault(_ units: Int, _ limit: Int) -> DeferredError? {
            if limit < 1 { return .invalidArgument("a semaphore's limit must be 1 or more, is \(limit)") }
            if units < 1 { return .invalidArgument("the units of a permit must be 1 or more, are \(units)") }
            guard units > limit else { return nil }
            return .invalidArgument("a permit of \(units) units exceeds the semaphore's limit of \(limit)")
        }

        // MARK: A call comes

        enum Request: Sendable {
            case granted
            /// It is to be added with ``enqueue(_:at:)``, at that place in the queue.
            case waits(CancellableFIFO<Waiter>.Ticket)
            case refused(DeferredError)
        }

        /// Takes units that are free and that no caller waits for, or reserves a place in the queue.
        mutating func request(_ units: Int) -> Request {
            if let fault = Self.fault(units, limit) { return .refused(fault) }
            return switch take(units) {
            case .taken: .granted
            case .unavailable: .waits(waiters.reserve())
            }
        }

        enum Taking { case taken, unavailable }

        /// Takes units that are free and that no caller waits for.
        mutating func take(_ units: Int) -> Taking {
            guard waiters.isEmpty, units >= 1, units <= free else { return .unavailable }
            used += units
            return .taken
        }

        enum Enqueuing: Sendable {
            case waits
            /// The limit has been lowered meanwhile.
            case refused(DeferredError)
        }

        /// Adds a caller to the queue.
        mutating func enqueue(_ waiter: Waiter, at ticket: CancellableFIFO<Waiter>.Ticket) -> Enqueuing {
            if let fault = Self.fault(waiter.units, limit) { return .refused(fault) }
            mostUnits = waiters.isEmpty ? waiter.units : max(mostUnits, waiter.units)
            waiters.insert(waiter, at: ticket)
            return .waits
        }

        // MARK: A call leaves

        enum Departure {
            /// It waits no more; nor did others wait only for that. What was removed is released after the lock.
            case left(Waiter?)
            /// Those behind it may have waited only for that: permits are to be granted.
            case leftBeforeOthers(Waiter?)
        }

        /// Removes a caller that is cancelled.
        mutating func leave(_ ticket: CancellableFIFO<Waiter>.Ticket) -> Departure {
            let removed = waiters.remove(ticket)
            return free > 0 && !waiters.isEmpty ? .leftBeforeOthers(removed) : .left(removed)
        }

        /// Removes and returns all callers that wait.
        mutating func removeAll() -> [Waiter] { waiters.removeAll() }

        // MARK: Units are granted

        enum Granting {
            /// The thread is to grant permits until ``next(on:)`` says that it has ended.
            case begins
            /// The thread grants permits further up its stack, and will grant those that are free now.
            case isInProgress
        }

        mutating func beginGranting(on thread: UInt) -> Granting {
            if grantingThreads.contains(thread) { return .isInProgress }
            grantingThreads.append(thread)
            return .begins
        }

        enum Next {
            /// The units are taken for this caller.
            case grants(Waiter)
            /// There are too few units, or no caller.
            case ends
        }

        /// Takes the units for the caller that has waited longest, to be granted by `thread`, or ends its loop.
        mutating func next(on thread: UInt) -> Next {
            guard let first = waiters.first(), first.units <= free, let waiter = waiters.popFirst() else {
                grantingThreads.removeAll { $0 == thread }
                return .ends
            }
            used += waiter.element.units
            return .grants(waiter.element)
        }

        /// Units that were taken are free again. Permits are to be granted then.
        mutating func takeBack(_ units: Int) { used -= units }

        // MARK: The limit changes

        /// A caller that can never be granted its units, and why.
        typealias Refusal = (waiter: Waiter, fault: DeferredError)

        /// Changes the limit, and removes the callers that could never be granted their units. Permits are to be granted
        /// then.
        mutating func setLimit(_ limit: Int) -> [Refusal] {
            self.limit = limit
            if limit >= 1, mostUnits <= limit { return [] }
            mostUnits = max(0, limit)
            return waiters.removeAll { Self.fault($0.units, limit) != nil }
                .compactMap { waiter in Self.fault(waiter.units, limit).map { (waiter, $0) } }
        }
    }
}
