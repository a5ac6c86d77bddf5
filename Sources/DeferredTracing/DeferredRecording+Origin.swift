internal import Deferred

extension DeferredRecording {
    /// How a Deferred was created. Further ways may be added: a `switch` needs a `default`.
    public struct Origin: Sendable, Hashable, CustomStringConvertible {
        /// The name of the function that created the Deferred, or nearly so.
        public let description: String

        init(_ origin: DeferredDiagnostic.Location.Origin) { description = origin.description }

        /// In another way.
        public static let other = Origin(.other)
        /// `Deferred()` or `Deferred(canceller:)`.
        public static let source = Origin(.source)
        /// `Deferred { resolver in … }` or `withResolver`.
        public static let resolver = Origin(.resolver)
        /// `resolved`, `rejected` or `Deferred(catching:)`.
        public static let settled = Origin(.settled)
        /// `map`, with a callback alone.
        public static let map = Origin(.map)
        /// `then`, with a callback alone.
        public static let then = Origin(.then)
        /// `done`, with a callback alone.
        public static let done = Origin(.done)
        /// `recover`.
        public static let recover = Origin(.recover)
        /// `orElse`.
        public static let orElse = Origin(.orElse)
        /// `fail`.
        public static let fail = Origin(.fail)
        /// `mapError`.
        public static let mapError = Origin(.mapError)
        /// `mapResult`.
        public static let mapResult = Origin(.mapResult)
        /// `thenResult`.
        public static let thenResult = Origin(.thenResult)
        /// `both`.
        public static let both = Origin(.both)
        /// `always`.
        public static let always = Origin(.always)
        /// `map(_:recover:)`, `then(_:orElse:)` or `done(_:fail:)`.
        public static let pair = Origin(.pair)
        /// `Deferred { try await … }`.
        public static let task = Origin(.task)
        /// `after`.
        public static let after = Origin(.after)
        /// `timeout`.
        public static let timeout = Origin(.timeout)
        /// `shielded()`.
        public static let shielded = Origin(.shielded)
        /// `DeferredList`'s `results`, `values`, `first` or `completed`, and `gather`.
        public static let list = Origin(.list)
        /// A Task that awaits a Deferred, by where that was made.
        public static let awaiting = Origin(.awaiting)
        /// A thread in `wait`.
        public static let blocking = Origin(.blocking)
    }
}
