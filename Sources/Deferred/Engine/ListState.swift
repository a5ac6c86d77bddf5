/// What a list knows of its inputs: it fires its own Deferred when they have decided the outcome.
///
/// The inputs hold it, by the links that watch them, for as long as they are pending; so once the list has fired it lets go
/// of its Deferred, whose handles are then all that keeps that.
@usableFromInline
final class ListState: Sendable {
    enum Rule: Sendable {
        /// Waits for all.
        case all
        /// Waits for all, or for the first failure.
        case untilFailure
        /// Waits for the first value; fails when all have failed, with the error that came last.
        case untilValue
        /// Passes each on as it settles, then fires.
        case each(@Sendable (_ index: Int, Link.Content) -> Void)
    }

    private struct State {
        /// The list's own Deferred, until it is decided.
        var link: Link?
        var outcomes: [Link.Content]
        var remaining: Int
        /// The links by which the list watches its inputs, in their order, while they may have to be cancelled.
        var watches: [Link] = []
        var isStarting = true
        /// Runs once: when the list has failed or been cancelled, or needs what remains no more, before anything is cancelled.
        var onStop: (@Sendable () -> Void)?
    }

    private let rule: Rule
    private let consumesErrors: Bool
    private let cancelsRemaining: Bool
    /// Makes the list's value out of the outcomes that it waited for.
    private let finish: @Sendable (_ outcomes: [Link.Content], _ index: Int) -> Link.Content
    private let state: Guarded<State>

    init(
        _ rule: Rule, count: Int, consumesErrors: Bool, cancelsRemaining: Bool,
        onStop: (@Sendable () -> Void)? = nil, _ site: DeferredDiagnostic.Location,
        _ finish: @escaping @Sendable (_ outcomes: [Link.Content], _ index: Int) -> Link.Content
    ) {
        self.rule = rule
        self.consumesErrors = consumesErrors
        self.cancelsRemaining = cancelsRemaining
        self.finish = finish
        let keepsAll =
            switch rule {
            case .all, .untilFailure: true
            case .untilValue, .each: false
            }
        state = Guarded(
            State(
                link: Link(.source, .none, site),
                outcomes: Array(repeating: .none, count: keepsAll ? count : 0),
                remaining: count, onStop: onStop))
    }

    /// Watches the inputs, which may fire meanwhile: all are attached before any is cancelled (D3).
    func start(_ inputs: [Link], _ site: DeferredDiagnostic.Location) -> Link {
        guard let link = state.withLock({ $0.link }) else { preconditionFailure("a list starts once") }
        if inputs.isEmpty {
            var frame = Frame()
            if case .untilValue = rule {
                decide(.failure(DeferredError.empty), isFailure: true, in: &frame)
            } else {
                decide(finish([], 0), isFailure: false, in: &frame)
            }
            frame.run()
            return link
        }
        link.ensureRare().list = self
        var watches: [Link] = []
        watches.reserveCapacity(inputs.count)
        for (index, input) in inputs.enumerated() {
            let watch = Link(.waiting, .watch(self, index: index), site)
            watches.append(watch)
            input.attach(watch)
        }
        let hasFired = state.withLock { state in
            state.isStarting = false
            let hasFired = state.link == nil
            if !hasFired || cancelsRemaining { swap(&state.watches, &watches) }
            return hasFired
        }
        if hasFired && cancelsRemaining {
            var frame = Frame()
            cancelInputs(in: &frame)
            frame.run()
        }
        return link
    }

    /// Takes the outcome of one input; true if a failure is the list's from now on.
    func receive(_ outcome: Link.Content, at index: Int, in frame: inout Frame) -> Bool {
        if case .each(let pass) = rule { pass(index, outcome) }
        var decided: [Link.Content] = []
        var failure: Link.Content?
        let answer: (wasPending: Bool, isDecided: Bool) = state.withLock { state in
            guard state.link != nil else { return (false, false) }
            state.remaining -= 1
            var isDecided = state.remaining == 0
            switch (rule, outcome) {
            case (.all, _), (.untilFailure, .value):
                state.outcomes[index] = outcome
            case (.untilFailure, _):
                isDecided = true
                failure = outcome
            case (.untilValue, .value):
                isDecided = true
                state.outcomes = [outcome]
            case (.untilValue, _):
                failure = outcome
            case (.each, _):
                break
            }
            if isDecided { swap(&decided, &state.outcomes) }
            return (true, isDecided)
        }
        if answer.isDecided {
            decide(failure ?? finish(decided, index), isFailure: failure != nil, in: &frame)
        }
        if case .each = rule { return true }
        return answer.wasPending || consumesErrors
    }

    /// Fires the list, unless that has been done.
    private func decide(_ outcome: Link.Content, isFailure: Bool, in frame: inout Frame) {
        var watches: [Link] = []
        let (link, isStarting): (Link?, Bool) = state.withLock { state in
            if !cancelsRemaining { swap(&watches, &state.watches) }
            return (state.link.take(), state.isStarting)
        }
        guard let link else { return }
        if isFailure || cancelsRemaining { stop() }
        _ = frame.fire(link, outcome)
        if cancelsRemaining && !isStarting { frame.enqueue(.cancelInputs(self)) }
    }

    /// The list's Deferred is being cancelled.
    func detach() {
        let link = state.withLock { $0.link.take() }
        if link != nil { stop() }
    }

    private func stop() {
        let onStop = state.withLock { $0.onStop.take() }
        onStop?()
    }

    /// Cancels what the inputs still pending do for this list, in their order (D3, D4).
    func cancelInputs(in frame: inout Frame) {
        let watches = takeWatches()
        // An input that stands in the list twice is one consumer's, and its place is the first.
        var seen: Set<UInt> = []
        for watch in watches {
            let input = watch.locked { watch.phase == .waiting ? watch.upstream.identity : 0 }
            if input != 0, !seen.insert(input).inserted { frame.withdraw(watch) }
        }
        for watch in watches { frame.cancel(watch) }
    }

    private func takeWatches() -> [Link] {
        var watches: [Link] = []
        state.withLock { swap(&watches, &$0.watches) }
        return watches
    }

    // MARK: For searches

    /// The list's own Deferred, until it is decided.
    var link: Link? { state.withLock { $0.link } }

    /// The links by which the list watches its inputs.
    var watches: [Link] { state.withLock { $0.watches } }
}
