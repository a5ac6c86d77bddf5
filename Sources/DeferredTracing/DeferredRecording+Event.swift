public import Deferred

extension DeferredRecording {
    /// Something that happened to a Deferred.
    public struct Event: Sendable, Hashable {
        /// The time since the recording started. No two events of a recording have the same time.
        public let time: Duration
        /// The thread on which it happened: a number that is unique in the process.
        public let thread: Int
        /// The Deferred to which it happened: a number, from 1, that is unique in this recording.
        public let deferred: Int
        /// How the Deferred was created.
        public let origin: Origin
        /// Where the Deferred was created.
        public let made: DeferredDiagnostic.Location
        /// What happened.
        public let action: Action
    }

    /// What can happen to a Deferred. Other Deferreds are identified by their numbers.
    public enum Action: Sendable, Hashable {
        /// It was created, attached to no other Deferred.
        case made
        /// It was created by attaching a closure to another Deferred; or it is a list, and the other is one of its
        /// inputs.
        case attached(to: Int)
        /// Something started to run on this thread, on the Dispatch queue with this label ("" if there is none).
        case began(Activity, queue: String)
        /// The activity that started last on this thread ended.
        case ended
        /// Its callback was submitted to a dispatcher: the queue's label, or the dispatcher's type.
        case dispatched(to: String)
        /// Its callback returned another Deferred, whose outcome it will take.
        case waits(for: Int)
        /// It follows another Deferred: it takes that one's outcome unless it is completed before.
        case follows(Int)
        /// No handle to it existed when it started to wait for a nested Deferred. The Deferred that waited for it
        /// now waits for the nested one directly.
        case bypassed(by: Int)
        /// It was settled. Its consumers are notified after this event.
        case fired(Outcome)
        /// It was paused: its consumers are not notified from now on. Pauses nest.
        case paused
        /// One pause was undone.
        case unpaused
    }

    /// What runs on a thread for a Deferred, from its start to its end.
    public enum Activity: Sendable, Hashable {
        /// Its callback or errback. (An errback for one type of error is recorded for other errors too.)
        case callback
        /// Its canceller.
        case canceller
        /// A finalizer that was added during the recording.
        case finalizer
        /// A `resolve`, `reject` or `complete`, with everything that it ran on its thread.
        case firing(at: DeferredDiagnostic.Location)
        /// A `cancel`, with everything that it ran on its thread.
        case cancelling
        /// An `unpause`, with everything that it ran on its thread.
        case unpausing
    }

    /// The outcome of a Deferred.
    public enum Outcome: Sendable, Hashable {
        /// A value.
        case value
        /// An error: its description, at most 300 characters.
        case failure(String)
        /// `CancellationError`.
        case cancelled
    }

    /// How a Deferred was created.
    public typealias Origin = DeferredDiagnostic.Origin
}

extension DeferredRecording.Activity: CustomStringConvertible {
    /// Describes the activity in one word.
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
