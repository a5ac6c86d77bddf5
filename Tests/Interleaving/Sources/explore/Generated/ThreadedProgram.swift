/// What the search has to know of a program of threads.
extension ModelProgram {
    private var actions: [ModelAction] { steps + threads.joined() }

    /// Whether a thread, or a callback, releases a handle or a resolver.
    var releasesHandles: Bool { actions.contains { $0.releases } }

    var pauses: Bool { actions.contains { if case .pause = $0 { true } else { false } } }

    /// The number of its links and operations.
    var size: Int { steps.count { !$0.isSource } + threads.reduce(0) { $0 + $1.count } }
}

extension ModelAction {
    fileprivate var isSource: Bool { if case .source = self { true } else { false } }

    fileprivate var releases: Bool {
        switch self {
        case .drop, .dropResolver: true
        case .attach(_, _, let callback, _):
            (callback.onValue.actions + callback.onFailure.actions).contains { $0.releases }
        default: false
        }
    }
}
