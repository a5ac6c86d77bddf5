/// What a run leaves: what its user did and saw, in order, and nothing of how the library does it.
struct RunLog: Hashable {
    enum Event: Hashable {
        /// A position is made of others, to which it is attached.
        case made(Made)
        /// The call that made it has returned: from here on it is seen when it is settled.
        case attached(Int)
        /// A closure of the user's began with this input, or none, and ended.
        case began(Call, Outcome?)
        case ended(Call, Ended)
        /// A finalizer is added: before the call, and when it has returned.
        case finalizerAdded(Int, of: Int, wasPending: Bool)
        case finalizerAttached(Int)
        case finalizerRan(Int, Outcome)
        case followed(Int, other: Int)
        /// A call that completes has returned.
        case completed(Int, Outcome, accepted: Bool)
        case cancelBegan(Int, [Int])
        case cancelEnded(Int)
        case paused(Int)
        case unpaused(Int)
        case dropped(Int)
        case resolverDropped(Int)
        case looked(Int, Outcome?)
        /// - Parameter isInside: In a closure of the user's.
        case waited(Int, Outcome, isInside: Bool)
        case awaited(Int, Outcome)
        /// A position is seen to be settled: read without taking its outcome.
        case settled(Int)
        /// The outcome of a position, as a finalizer sees it: that handles nothing, and receives nothing.
        case seen(Int, Outcome)
        /// The Deferred that a list gave is seen to be settled. Its position is what reads the values, and follows.
        case decided(Int)
        /// What it is settled with. The number of a value is 0.
        case decidedWith(Int, Outcome)
        /// A value that is given back if nobody receives it.
        case returnable(Int)
        case received(Int)
        case returned(Int)
        case left(Int)
        case reported(Report)
        /// Nothing of the user's runs on any thread.
        case quiet
        /// The program has ended: what waits is run, and what could complete anything is released.
        case closing
        case closed
    }

    private(set) var events: [Event] = []

    mutating func add(_ event: Event) { events.append(event) }
}

extension RunLog: CustomStringConvertible {
    var description: String {
        events.enumerated().map { time, event in
            // Without the names of types.
            "  \(time) " + "\(event)".replacing(/\b[A-Za-z]+\.(?=[A-Za-z])/, with: "")
        }.joined(separator: "\n")
    }
}

/// A position of a program.
struct Made: Hashable {
    enum Kind: Hashable {
        case source(Completion), settled
        case link(Form, Place)
        case shielded, timeout
        case list(Rule, consumesErrors: Bool, cancelsRemaining: Bool)
        case limited(Int), retry, locked(Int), latest(Int)
        case cached(cache: Int, key: Int)
        case get(Int), worker(Int), task
    }

    let id: Int
    let kind: Kind
    var inputs: [Int] = []

    /// Whether it ends with the outcome of one thing, and cancels nothing of its own accord.
    var isSimple: Bool {
        switch kind {
        case .source, .settled, .link, .shielded: true
        default: false
        }
    }
}

/// A closure of the user's: that of a position, the body of an element or an attempt, or a canceller.
struct Call: Hashable {
    enum Role { case body, canceller }

    let id: Int
    var part = 0
    var role = Role.body
}

enum Ended: Hashable {
    case value(Int)
    case error(Int)
    case rethrown(Outcome)
    case deferred(Int)
    /// A canceller that left its source as it was.
    case nothing

    var deferred: Int? { if case .deferred(let id) = self { id } else { nil } }
}

/// An outcome; values and errors have a number each, which is theirs alone.
enum Outcome: Hashable {
    case value(Int)
    case failure(Int)
    case cancelled, abandoned, cycle, timedOut, finished, empty, wouldDeadlock
    case other(String)
}

enum Report: Hashable {
    case unhandled(Outcome, made: Int)
    case alreadySettled(made: Int)
    case notCompletable(made: Int)
    case unbalancedUnpause(made: Int)
}
