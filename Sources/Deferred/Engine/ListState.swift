/// What a list knows of its inputs: it fires its own Deferred when they have decided the outcome.
///
/// Each input is watched by a link, which takes that one's outcome and tells the list; so the watches, in the
/// inputs' order, are the results. The inputs hold the list, by their watches, for as long as they are
/// pending; so once it has fired it lets go of its Deferred, whose handles are then all that keeps that.
@usableFromInline
final class ListState: Sendable {
    @usableFromInline
    enum Rule: Sendable {
        /// Waits for all.
        case all
        /// Waits for all, or for the first failure.
        case untilFailure
        /// Waits for the first value; fails when all have failed, with the error that came last.
        case untilValue
        /// Passes each on as it settles, then fires.
        case each(@Sendable (_ index: Int, _ input: Link) -> Void)
    }

    /// Whether it can't fire before each of its inputs has.
    var waitsForAll: Bool {
        switch rule {
        case .all, .each: true
        case .untilFailure, .untilValue: false
        }
    }

    /// Makes the list's value out of its settled inputs, or of the one at `index`, which decided.
    @usableFromInline
    typealias Finish = @Sendable (_ inputs: [Link], _ index: Int) -> Link.Content

    private struct State {
        /// The list's own Deferred, until it fires.
        var link: Link?
        var remaining: Int
        /// The input that decided, and whether by failing the list.
        var decision: (index: Int, isFailure: Bool)?
        /// Those watched, while they are needed.
        var watches: [Link] = []
        var isStarting = true
        /// Runs once: when the list has failed or been cancelled, or needs what remains no more, before
        /// anything is cancelled.
        var onStop: (@Sendable () -> Void)?
    }

    private let rule: Rule
    /// How many inputs are under way at the same time, if each waits for its turn.
    let limit: Int?
    private let consumesErrors: Bool
    private let cancelsRemaining: Bool
    private let finish: Finish
    private let state: Guarded<State>

    init(
        _ rule: Rule, count: Int, limit: Int? = nil, consumesErrors: Bool, cancelsRemaining: Bool,
        onStop: (@Sendable () -> Void)? = nil, _ site: DeferredDiagnostic.Location, _ finish: @escaping Finish
    ) {
        self.rule = rule
        self.limit = limit
        self.consumesErrors = consumesErrors
        self.cancelsRemaining = cancelsRemaining
        self.finish = finish
        state = Guarded(State(link: Link(.source, .none, site), remaining: count, onStop: onStop))
    }

    /// Watches the inputs, which may fire meanwhile: all are attached before the list fires, and before any
    /// is cancelled (D3).
    func start(_ inputs: [Link], _ site: DeferredDiagnostic.Location) -> Link {
        guard let link = state.withLock({ $0.link }) else { preconditionFailure("a list starts once") }
        var frame = Frame()
        if inputs.isEmpty {
            if case .untilValue = rule {
                _ = frame.fire(link, .failure(DeferredError.empty))
            } else {
                _ = frame.fire(link, finish([], 0))
            }
            frame.run()
            return link
        }
        link.ensureRare().list = self
        var watches: [Link] = []
        watches.reserveCapacity(inputs.count)
        for (index, input) in inputs.enumerated() {
            let watch = Link(.waiting, .watch(self, index: index), site.of(.hidden))
            watches.append(watch)
            input.attach(watch)
        }
        let isDecided = state.withLock { state in
            state.isStarting = false
            swap(&state.watches, &watches)
            return state.decision != nil
        }
        if isDecided {
            decide(in: &frame)
            frame.run()
        }
        return link
    }

    /// Takes notice of an input that has settled; true if its failure is the list's from now on.
    func receive(at index: Int, by watch: Link, in frame: inout Frame) -> Bool {
        let isFailure = watch.content.isFailure
        var passesEach = false
        if case .each(let pass) = rule {
            pass(index, watch)
            passesEach = true
        }
        let (isInTime, decides): (Bool, Bool) = state.withLock { state in
            guard state.link != nil, state.decision == nil else { return (false, false) }
            state.remaining -= 1
            let isDecided =
                switch rule {
                case .all, .each: state.remaining == 0
                case .untilFailure: isFailure || state.remaining == 0
                case .untilValue: !isFailure || state.remaining == 0
                }
            guard isDecided else { return (true, false) }
            let failsList =
                switch rule {
                case .all, .each: false
                case .untilFailure, .untilValue: isFailure
                }
            state.decision = (index, failsList)
            return (true, !state.isStarting)
        }
        if decides { decide(in: &frame) }
        return isInTime || passesEach || consumesErrors
    }

    /// Fires the list as its inputs have decided.
    private func decide(in frame: inout Frame) {
        let (link, decision, watches) = state.withLock { state in
            let link = state.link.take()
            let watches = state.watches
            // A cancel that came first needs them.
            if link != nil && !cancelsRemaining { state.watches = [] }
            return (link, state.decision, watches)
        }
        guard let link, let (index, isFailure) = decision else { return }
        if isFailure || cancelsRemaining { stop() }
        _ = frame.fire(link, isFailure ? watches[index].content.copy() : finish(watches, index))
        if cancelsRemaining { frame.enqueue(.cancelInputs(self)) }
    }

    /// The list's Deferred is being cancelled. False if it is about to fire.
    func detach() -> Bool {
        let link = state.withLock { $0.link.take() }
        if link != nil { stop() }
        return link != nil
    }

    private func stop() {
        let onStop = state.withLock { $0.onStop.take() }
        onStop?()
    }

    /// Cancels what the inputs still pending do for this list, in their order (D3, D4).
    func cancelInputs(in frame: inout Frame) {
        var watches: [Link] = []
        state.withLock { swap(&watches, &$0.watches) }
        // An input that stands in the list twice is one consumer's, and its place is the first.
        var seen: Set<UInt> = []
        for watch in watches {
            let input = watch.locked { watch.phase == .waiting ? watch.upstream.identity : 0 }
            if input != 0, !seen.insert(input).inserted { frame.withdraw(watch) }
        }
        for watch in watches { frame.cancel(watch) }
    }

    // MARK: For searches

    /// The list's own Deferred, until it fires.
    var link: Link? { state.withLock { $0.link } }

    /// The links by which the list watches its inputs.
    var watches: [Link] { state.withLock { $0.watches } }
}
