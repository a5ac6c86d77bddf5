extension DeferredRecording {
    /// One thing that happened.
    public struct Event: Sendable, Hashable {
        /// When, since the recording began. No two events of a recording have the same time.
        public let time: Duration
        /// The thread on which it happened: a number that no other thread of the process has or had.
        public let thread: Int
        /// The Deferred to which it happened: a number, from 1, that no other Deferred of this recording has.
        public let deferred: Int
        /// How the Deferred was made.
        public let origin: Origin
        /// Where the Deferred was made.
        public let made: DeferredDiagnostic.Location
        /// What happened.
        public let action: Action
    }

    /// What can happen to a Deferred. Other Deferreds are told by their numbers.
    public enum Action: Sendable, Hashable {
        /// It was made, and is attached to none.
        case made
        /// It was made by attaching a callback, or the like, to another; or it is a list, and this is one of
        /// its inputs.
        case attached(to: Int)
        /// Something began to run on this thread, on the Dispatch queue with this label ("" where there is
        /// none).
        case began(Activity, queue: String)
        /// What began last on this thread, and has not ended yet, ended.
        case ended
        /// Its callback was handed to a dispatcher: a queue's label, or the dispatcher's type.
        case dispatched(to: String)
        /// Its callback gave another, and its outcome will be that one's.
        case waits(for: Int)
        /// It will fire as another does, unless it is fired before.
        case follows(Int)
        /// Nobody held it when it began to wait for a nested one; so what waited for it waits for that one in
        /// its place, and it is gone.
        case bypassed(by: Int)
        /// It has its outcome; those attached to it are told after this.
        case fired(Outcome)
        /// It was paused: those attached are not told from now on. Pauses nest.
        case paused
        /// One pause was undone.
        case unpaused
    }

    /// What runs on a thread for a Deferred, from its beginning to its end.
    public enum Activity: Sendable, Hashable {
        /// The callback or errback that it was made with. (An errback for one type of error is noted for
        /// others too.)
        case callback
        /// Its canceller.
        case canceller
        /// A finalizer of it that was added while this was recorded.
        case finalizer
        /// A `resolve`, `reject` or `complete`, with all that this ran on its thread.
        case firing(at: DeferredDiagnostic.Location)
        /// A `cancel`, with all that this ran on its thread.
        case cancelling
        /// An `unpause`, with all that this ran on its thread.
        case unpausing
    }

    /// What a Deferred fired with.
    public enum Outcome: Sendable, Hashable {
        /// A value, whichever.
        case value
        /// An error, by its description, cut off after 300 characters.
        case failure(String)
        /// `CancellationError`.
        case cancelled

        static let longestDescription = 300
    }

    /// How a Deferred was made.
    public enum Origin: Sendable, Hashable {
        /// In a way that has no name here.
        case other
        /// `Deferred()` or `Deferred(canceller:)`.
        case source
        /// `Deferred { resolver in … }` or `withResolver`.
        case resolver
        /// `resolved`, `rejected` or `Deferred(catching:)`.
        case settled
        /// `then`, with a callback alone.
        case then
        /// `fail`.
        case fail
        /// `both`.
        case both
        /// `then(_:fail:)`.
        case pair
        /// `Deferred { try await … }`.
        case task
        /// `after`.
        case after
        /// `timeout`.
        case timeout
        /// `shielded()`.
        case shielded
        /// `DeferredList`'s `results`, `values`, `first` or `completed`, and `gather`.
        case list
        /// A Task that awaits a Deferred, by where that was made.
        case awaiting
        /// A thread in `wait`.
        case blocking
    }
}

extension DeferredRecording.Origin: CustomStringConvertible {
    /// As it is written in code, or nearly so.
    public var description: String {
        switch self {
        case .other: "Deferred"
        case .source: "Deferred()"
        case .resolver: "withResolver"
        case .settled: "resolved"
        case .then: "then"
        case .fail: "fail"
        case .both: "both"
        case .pair: "then/fail"
        case .task: "Task"
        case .after: "after"
        case .timeout: "timeout"
        case .shielded: "shielded"
        case .list: "list"
        case .awaiting: "await"
        case .blocking: "wait"
        }
    }

    /// Whether a callback attached this way runs with such an outcome, or is passed by.
    func runs(onFailure isFailure: Bool) -> Bool {
        switch self {
        case .then: !isFailure
        case .fail: isFailure
        default: true
        }
    }
}

extension DeferredRecording.Activity: CustomStringConvertible {
    /// In a word.
    public var description: String {
        switch self {
        case .callback: "callback"
        case .canceller: "canceller"
        case .finalizer: "finally"
        case .firing: "fire"
        case .cancelling: "cancel"
        case .unpausing: "unpause"
        }
    }
}
