/// What a list knows of its inputs: it fires its link when they have decided the outcome.
///
/// Sound as `@unchecked Sendable`: the variables are read and written under the lock of `link`, or by the thread that has
/// claimed it (made it `running`), or by the one that starts the list, before anybody else can reach it.
@usableFromInline
final class ListState: @unchecked Sendable {
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

    /// The list's own Deferred.
    let link: Link
    private let rule: Rule
    private let consumesErrors: Bool
    private let cancelsRemaining: Bool
    /// Runs when the list has failed or been cancelled, or needs what remains no more: before anything is cancelled.
    let onStop: (@Sendable () -> Void)?
    /// Makes the value out of all outcomes, or of the one at `index` that decided.
    private let finish: @Sendable (_ outcomes: [Link.Content], _ index: Int) -> Link.Content
    private var outcomes: [Link.Content]
    private var remaining: Int
    /// The links by which the list watches its inputs, in their order. Kept until the list has fired.
    private(set) var watches: [Link] = []
    private var isStarting = true

    init(
        _ rule: Rule, count: Int, consumesErrors: Bool, cancelsRemaining: Bool,
        onStop: (@Sendable () -> Void)? = nil, _ site: DeferredDiagnostic.Location,
        _ finish: @escaping @Sendable (_ outcomes: [Link.Content], _ index: Int) -> Link.Content
    ) {
        self.rule = rule
        self.consumesErrors = consumesErrors
        self.cancelsRemaining = cancelsRemaining
        self.onStop = onStop
        self.finish = finish
        link = Link(.source, .none, site)
        remaining = count
        switch rule {
        case .all, .untilFailure: outcomes = Array(repeating: .none, count: count)
        case .untilValue, .each: outcomes = []
        }
    }

    /// Watches the inputs, which may fire meanwhile: all are attached before any is cancelled (D3).
    func start(_ inputs: [Link], _ site: DeferredDiagnostic.Location) -> Link {
        if inputs.isEmpty {
            var frame = Frame()
            _ = frame.fire(link, isFirst ? .failure(DeferredError.empty) : finish([], 0))
            frame.run()
            return link
        }
        let rare = link.ensureRare()
        rare.list = self
        var watches: [Link] = []
        watches.reserveCapacity(inputs.count)
        for (index, input) in inputs.enumerated() {
            let watch = Link(.waiting, .watch(self, index: index), site)
            watches.append(watch)
            input.attach(watch)
        }
        let hasFired = link.locked {
            isStarting = false
            if link.phase == .source || cancelsRemaining { swap(&self.watches, &watches) }
            return link.phase != .source
        }
        if hasFired && cancelsRemaining {
            var frame = Frame()
            cancelInputs(in: &frame)
            frame.run()
        }
        return link
    }

    private var isFirst: Bool {
        if case .untilValue = rule { true } else { false }
    }

    /// Takes the outcome of one input; true if a failure is the list's from now on.
    func receive(_ outcome: Link.Content, at index: Int, in frame: inout Frame) -> Bool {
        let word = link.lock()
        guard link.phase == .source else {
            link.unlock(word)
            return consumesErrors
        }
        remaining -= 1
        var isDecided = remaining == 0
        var failure: Link.Content?
        switch (rule, outcome) {
        case (.all, _), (.untilFailure, .value):
            outcomes[index] = outcome
        case (.untilFailure, _):
            isDecided = true
            failure = outcome
        case (.untilValue, .value):
            isDecided = true
            outcomes = [outcome]
        case (.untilValue, _):
            failure = outcome
        case (.each(let pass), _):
            link.unlock(word)
            pass(index, outcome)
            if isDecided { _ = frame.fire(link, finish([], index)) }
            return true
        }
        guard isDecided else {
            link.unlock(word)
            return true
        }
        link.phase = .running
        var decided: [Link.Content] = []
        swap(&decided, &outcomes)
        let isStarting = self.isStarting
        var watches: [Link] = []
        if !cancelsRemaining { swap(&watches, &self.watches) }
        link.unlock(word)

        if cancelsRemaining || failure != nil { onStop?() }
        frame.settle(link, failure ?? finish(decided, index))
        if cancelsRemaining && !isStarting { frame.enqueue(.cancelInputs(self)) }
        return true
    }

    /// Cancels what the inputs still pending do for this list, in their order (D3, D4).
    func cancelInputs(in frame: inout Frame) {
        var watches: [Link] = []
        link.locked { swap(&watches, &self.watches) }
        // An input that stands in the list twice is one consumer's, and its place is the first.
        var seen: Set<UnsafeMutableRawPointer> = []
        for watch in watches {
            guard let input = watch.locked({ watch.upstream?.toOpaque() }) else { continue }
            if !seen.insert(input).inserted { frame.withdraw(watch) }
        }
        for watch in watches { frame.cancel(watch) }
    }
}
