extension DeferredDiagnostic {
    /// How a Deferred was created.
    public enum Origin: Sendable, Hashable {
        /// In another way.
        case other
        /// `Deferred()` or `Deferred(canceller:)`.
        case source
        /// `Deferred { resolver in … }` or `withResolver`.
        case resolver
        /// `resolved`, `rejected` or `Deferred(catching:)`.
        case settled
        /// `map`, with a callback alone.
        case map
        /// `then`, with a callback alone.
        case then
        /// `done`, with a callback alone.
        case done
        /// `recover`.
        case recover
        /// `orElse`.
        case orElse
        /// `fail`.
        case fail
        /// `mapResult`.
        case mapResult
        /// `thenResult`.
        case thenResult
        /// `both`.
        case both
        /// `always`.
        case always
        /// `map(_:recover:)`, `then(_:orElse:)` or `done(_:fail:)`.
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

extension DeferredDiagnostic.Origin: CustomStringConvertible {
    /// The name of the function that created the Deferred, or nearly so.
    public var description: String {
        switch self {
        case .other: "Deferred"
        case .source: "Deferred()"
        case .resolver: "withResolver"
        case .settled: "resolved"
        case .map: "map"
        case .then: "then"
        case .done: "done"
        case .recover: "recover"
        case .orElse: "orElse"
        case .fail: "fail"
        case .mapResult: "mapResult"
        case .thenResult: "thenResult"
        case .both: "both"
        case .always: "always"
        case .pair: "pair"
        case .task: "Task"
        case .after: "after"
        case .timeout: "timeout"
        case .shielded: "shielded"
        case .list: "list"
        case .awaiting: "await"
        case .blocking: "wait"
        }
    }

    /// Returns whether a closure attached this way runs with such an outcome, or is bypassed.
    func runs(onFailure isFailure: Bool) -> Bool {
        switch self {
        case .map, .then, .done: !isFailure
        case .recover, .orElse, .fail: isFailure
        default: true
        }
    }
}
