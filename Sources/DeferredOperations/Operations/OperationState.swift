/// How far an operation is: what remains before it is finished, and who does the next part of it.
///
/// A transition decides, under the operation's lock, and returns what its caller is to do without it. Each part below is
/// done by one thread; any of them may be the last.
///
/// | event | leads to |
/// |---|---|
/// | `request` | accepted, once, before the operation was started; settling remains, and dispatching if the outcome is delivered on a dispatcher |
/// | `decide` | the outcome is decided, by the first; its caller then notifies the subclass, and ends `.decision` |
/// | `cancel` | as `decide`; work that has returned is to be stopped by this thread, work that runs by the one that runs it |
/// | `start` | once; work is to run unless the outcome is decided |
/// | `endWork` | the work has returned; it is to be stopped if a cancel came meanwhile |
/// | `end` of a part | settles, by one thread, what was requested and is decided; finishes when nothing else remains |
/// | `finish` | finished |
struct OperationState: Equatable, Sendable {
    /// What has to happen before an operation is finished: it is to be *started*, *decided*, *idle* (its work has
    /// returned, and what stops it) and *delivered* (settled, and dispatched).
    struct Parts: OptionSet, Sendable {
        let rawValue: UInt8
        /// The queue has to call `start()`.
        static let start = Parts(rawValue: 1)
        /// The work has to return.
        static let work = Parts(rawValue: 2)
        /// What stops the work has to return.
        static let stopping = Parts(rawValue: 4)
        /// The Deferred has to be settled.
        static let settling = Parts(rawValue: 8)
        /// A dispatcher has to run the work that was submitted to it, or to release it.
        static let dispatching = Parts(rawValue: 16)
        /// A thread has to notify the queue.
        static let notification = Parts(rawValue: 32)
        /// The outcome has to be decided, and `didDecide` to return.
        static let decision = Parts(rawValue: 64)
    }

    private(set) var remaining: Parts = [.start, .decision, .notification]
    private(set) var isRequested = false
    private(set) var isDecided = false
    /// Whether a thread settles the Deferred, or has.
    private var isSettling = false
    private(set) var isFinished = false

    var isStarted: Bool { !remaining.contains(.start) }
    var isExecuting: Bool { isStarted && !isFinished }

    enum Acceptance { case accepted, refused }

    mutating func request(isDispatched: Bool) -> Acceptance {
        guard !isRequested, !isStarted else { return .refused }
        isRequested = true
        remaining.formUnion(isDispatched ? [.settling, .dispatching] : .settling)
        return .accepted
    }

    enum Decision { case isFirst, isLate }

    mutating func decide() -> Decision {
        if isDecided { return .isLate }
        isDecided = true
        return .isFirst
    }

    enum Cancellation {
        /// The outcome was decided before.
        case isLate
        /// There is no work to stop.
        case decides
        /// This thread stops the work, and then ends `.stopping`.
        case stops
        /// The thread that runs the work stops it.
        case stopsWhenReturned
    }

    mutating func cancel() -> Cancellation {
        guard decide() == .isFirst else { return .isLate }
        guard isStarted else { return .decides }
        remaining.insert(.stopping)
        return remaining.contains(.work) ? .stopsWhenReturned : .stops
    }

    enum Start {
        /// It was started before.
        case isRepeated
        case works
        /// The outcome is decided: there is no work.
        case isDecided
    }

    mutating func start() -> Start {
        guard remaining.remove(.start) != nil else { return .isRepeated }
        if isDecided { return .isDecided }
        remaining.insert(.work)
        return .works
    }

    enum WorkEnd {
        case isIdle
        /// This thread stops the work, and then ends `.stopping`.
        case stops
    }

    mutating func endWork() -> WorkEnd {
        remaining.remove(.work)
        return remaining.contains(.stopping) ? .stops : .isIdle
    }

    enum Next {
        /// Something remains, or another thread continues.
        case nothing
        /// This thread settles the Deferred, and then ends `.settling`.
        case settle
        /// This thread finishes the operation.
        case finish
    }

    mutating func end(_ ended: Parts) -> Next {
        remaining.subtract(ended)
        if !remaining.contains(.decision), remaining.contains(.settling), !isSettling {
            isSettling = true
            return .settle
        }
        guard remaining == .notification else { return .nothing }
        // No other thread continues after this; `isFinished` itself must change between the two notifications.
        remaining = []
        return .finish
    }

    mutating func finish() { isFinished = true }
}
