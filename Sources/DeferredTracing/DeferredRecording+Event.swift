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
        public var origin: Origin { Origin(made.origin) }
        /// Where the Deferred was created.
        public let made: DeferredDiagnostic.Location
        /// What happened.
        public internal(set) var action: Action
    }

    /// What can happen to a Deferred. Further kinds may be added.
    public struct Action: Sendable, Hashable {
        /// The kind of an action. A `switch` needs a `default`.
        public struct Kind: Sendable, Hashable, CustomStringConvertible {
            /// The name of the kind.
            public let description: String

            fileprivate init(_ kind: Recording.Event.Kind) { description = kind.rawValue }

            /// It was created, attached to no other Deferred.
            public static let made = Kind(.made)
            /// It was created by attaching a closure to another Deferred; or it is a list, and the other is one of its
            /// inputs.
            public static let attached = Kind(.attached)
            /// Something started to run on this thread: the ``activity``, on the ``queue``.
            public static let began = Kind(.began)
            /// The activity that started last on this thread ended.
            public static let ended = Kind(.ended)
            /// Its callback was submitted to a dispatcher: the ``queue``.
            public static let dispatched = Kind(.dispatched)
            /// Its callback returned another Deferred, whose outcome it will take.
            public static let waits = Kind(.waits)
            /// It follows another Deferred: it takes that one's outcome unless it is completed before.
            public static let follows = Kind(.follows)
            /// No handle to it existed when it started to wait for a nested Deferred. The Deferred that waited for it
            /// now waits for the nested one directly.
            public static let bypassed = Kind(.bypassed)
            /// It was settled. Its consumers are notified after this event.
            public static let settled = Kind(.settled)
            /// It was paused: its consumers are not notified from now on. Pauses nest.
            public static let paused = Kind(.paused)
            /// One pause was undone.
            public static let unpaused = Kind(.unpaused)
        }

        /// What happened.
        public private(set) var kind: Kind
        /// The number of the other Deferred, where there is one.
        public private(set) var other: Int?
        /// What began to run.
        public private(set) var activity: Activity?
        /// The label of the Dispatch queue on which it runs ("" if there is none), or to which it was submitted; for
        /// another dispatcher, its type.
        public private(set) var queue: String?
        /// With which outcome the Deferred was settled.
        public internal(set) var outcome: Outcome?

        /// - Parameter other: The number of the other Deferred.
        init(_ event: Recording.Event, other: Int?) {
            kind = Kind(event.kind)
            self.other = other
            activity = event.activity.map(Activity.init)
            queue = event.queue
            outcome = event.outcome.map(Outcome.init)
        }
    }

    /// What runs on a thread for a Deferred, from its start to its end. Further ones may be added: a `switch` needs a
    /// `default`.
    public struct Activity: Sendable, Hashable, CustomStringConvertible {
        /// The activity in one word.
        public let description: String
        /// Where the code is that completed the Deferred.
        public let place: DeferredDiagnostic.Location?

        fileprivate init(_ activity: Recording.Activity) {
            description = activity.name
            place = activity.place
        }

        /// Its callback or errback. (An errback for one type of error is recorded for other errors too.)
        public static let callback = Activity(.callback)
        /// Its canceller.
        public static let canceller = Activity(.canceller)
        /// A finalizer that was added during the recording.
        public static let finalizer = Activity(.finalizer)
        /// A `cancel`, with everything that it ran on its thread.
        public static let cancelling = Activity(.cancelling)
        /// An `unpause`, with everything that it ran on its thread.
        public static let unpausing = Activity(.unpausing)
        /// Returns the activity of a `resolve`, `reject` or `complete`, with everything that it ran on its thread.
        public static func completing(at place: DeferredDiagnostic.Location) -> Activity {
            Activity(.completing(at: place))
        }
    }

    /// The outcome of a Deferred.
    public enum Outcome: Sendable, Hashable {
        /// A value.
        case value
        /// An error: its description, at most 300 characters.
        case failure(String)
        /// `CancellationError`.
        case cancelled

        /// An error's description follows when the error's own code has run.
        init(_ outcome: Recording.Outcome) {
            switch outcome {
            case .value: self = .value
            case .failure: self = .failure("")
            case .cancelled: self = .cancelled
            }
        }
    }
}
