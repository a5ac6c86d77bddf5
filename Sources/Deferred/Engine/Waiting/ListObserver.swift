/// Observes the inputs of a list and settles the list's Deferred when they have decided its outcome.
///
/// Each input is observed by a link, which takes the input's outcome and notifies this object; the observers,
/// in the order of the inputs, are therefore the results. The inputs retain this object, through their
/// observers, while they are pending. Once the list is settled this object releases the list's Deferred,
/// which is then kept alive by its handles alone.
///
/// Sound as `@unchecked Sendable`: its properties are constants of types that are `Sendable`, and `state` has a lock.
@usableFromInline
final class ListObserver: LoopList, @unchecked Sendable {
    @usableFromInline
    enum Rule: Sendable {
        /// Waits for all.
        case all
        /// Waits for all, or for the first failure.
        case untilFailure
        /// Waits for the first value; fails when all have failed, with the last error.
        case untilValue
        /// Waits for the first to settle.
        case untilSettled
        /// Passes each input to the closure when it settles; resolves after the last.
        case each(@Sendable (_ index: Int, _ input: Link) -> Void)
    }

    /// Returns the list's value, made of its settled inputs: of all in their order, or for `.untilValue` and
    /// `.untilSettled` of the one that decided, whose index in the list is `index`.
    @usableFromInline
    typealias Finish = @Sendable (_ inputs: [Link], _ index: Int) -> Payload

    /// What settles the list.
    private enum Decision {
        /// All inputs have settled as the rule requires.
        case all
        /// The list's value is made of this input: it has the first value, or is the first to settle.
        case input(Link, index: Int)
        /// This input's failure is the list's.
        case failure(Link)
        case error(any Error)
    }

    private struct State {
        /// The list's own Deferred, until it is settled or cancelled.
        var link: Link?
        /// How many inputs are pending.
        var remaining: Int
        var decision: Decision?
        var observers = Observers()
        /// Whether an input is being attached: the thread that attaches it then settles the list.
        var isAttaching: Bool
        /// Whether the list's Deferred was cancelled.
        var wasCancelled = false
        var owner: (any ListOwner)?
        /// Whether inputs may yet be added.
        var isOpen: Bool
        /// How many inputs were added.
        var addedCount = 0
        /// The input that failed last, of a list that waits for a value.
        var lastFailure: Link?
        var kept = Kept.nothing

        /// In one word: the scope of an input is of no use to a list that was cancelled.
        enum Kept {
            case nothing
            case scope(FinalizerScope)
            case held(HeldScopes)
        }

        /// The scope of the input that settled last, until it is known whether that settles the list (Z1).
        var scope: FinalizerScope? {
            get { if case .scope(let scope) = kept { scope } else { nil } }
            set {
                if case .held = kept { return }
                kept = newValue.map { .scope($0) } ?? .nothing
            }
        }

        /// Holds the scopes of inputs that are cancelled with the list.
        var held: HeldScopes? { if case .held(let held) = kept { held } else { nil } }

        /// The list was cancelled. Releases no last reference.
        mutating func keep(_ held: HeldScopes?) {
            guard let held else { return }
            if let scope { held.hold(scope) }
            kept = .held(held)
        }

        var isUndecided: Bool { link != nil && decision == nil }

        /// Decides an undecided list whose inputs have all settled.
        mutating func decideIfEnded(by rule: Rule) {
            guard isUndecided, remaining == 0, !isOpen else { return }
            switch rule {
            case .all, .each, .untilFailure: decision = .all
            case .untilSettled: decision = .error(DeferredError.empty)
            case .untilValue:
                decision = lastFailure.map { .failure($0) } ?? .error(DeferredError.empty)
            }
        }

        /// Decides an undecided list that was cut off by an error before its sequence of inputs had ended, unless it
        /// waits for those that were started.
        mutating func decide(by rule: Rule, cutOff error: any Error) {
            switch rule {
            case .untilFailure: decision = .error(error)
            case _ where remaining > 0: break
            case .all, .each: decision = .all
            case .untilValue, .untilSettled: decision = .error(error)
            }
        }
    }

    /// The links that observe the inputs, while they are needed.
    private struct Observers {
        /// Those of the inputs that were there from the start.
        var given: [Link] = []
        /// Those of inputs that were added one by one, by index.
        var added: [Int: Link] = [:]

        mutating func takeAll() -> Observers {
            let all = self
            self = Observers()
            return all
        }

        var inOrder: [Link] { added.isEmpty ? given : added.sorted { $0.key < $1.key }.map(\.value) }
    }

    private let rule: Rule
    private let isEach: Bool
    private let addsInputs: Bool
    private let consumesErrors: Bool
    private let cancels: Bool
    override var cancelsRemaining: Bool { cancels }
    private let finish: Finish
    private let state: SpinLocked<State>

    init(
        _ rule: Rule, count: Int, addsInputs: Bool = false, consumesErrors: Bool, cancelsRemaining: Bool,
        owner: (any ListOwner)? = nil, _ site: DeferredDiagnostic.Location,
        _ finish: @escaping Finish
    ) {
        self.rule = rule
        self.addsInputs = addsInputs
        isEach = if case .each = rule { true } else { false }
        self.consumesErrors = isEach || consumesErrors
        cancels = cancelsRemaining
        self.finish = finish
        let link = Link(.source, .none, site)
        state = SpinLocked(
            State(
                link: link, remaining: count, isAttaching: !addsInputs, owner: owner, isOpen: addsInputs))
        super.init()
        link.ensureColdState().list = self
    }

    /// Observes the inputs, which may settle meanwhile: all are attached before the list is settled, and
    /// before any is cancelled (D3).
    func start(_ inputs: [Link], _ site: DeferredDiagnostic.Location) -> Link {
        let link = open()
        let site = site.of(.hidden)
        var observers = inputs.indices.map { observe(inputs[$0], $0, site) }
        let isDecided = state.withLock { state in
            state.isAttaching = false
            swap(&state.observers.given, &observers)
            state.decideIfEnded(by: rule)
            return state.decision != nil
        }
        if isDecided { DrainLoop.with { decide(in: &$0) } }
        return link
    }

    /// Attaches an observer of an input.
    @inline(__always)
    private func observe(_ input: Link, _ index: Int, _ site: DeferredDiagnostic.Location) -> Link {
        if cancelsRemaining { return observeToCancel(input, index, site) }
        return input.attach(.observer(self, index: index), site)
    }

    /// As `observe`, for a list that cancels what remains: flagged before it is there.
    @inline(never)
    private func observeToCancel(_ input: Link, _ index: Int, _ site: DeferredDiagnostic.Location) -> Link {
        let observer = Link(.waiting, .observer(self, index: index), site)
        input.noteLeadsToCancellingList()
        observer.set(Link.Flags.mayLeadToCancellingList)
        input.attach(observer)
        return observer
    }

    /// Records that an input has settled. Returns whether its failure counts as handled.
    override func receive(at index: Int, by observer: Link, in loop: inout DrainLoop) -> Bool {
        let isFailure = observer.payload.isFailure
        if case .each(let pass) = rule { pass(index, observer) }
        let (isInTime, decides, replaced): (Bool, Bool, Link?) = state.withLock { state in
            var replaced: Link?
            if !needsSettled, addsInputs { state.observers.added[index] = nil }
            // An input that was being added when the list was cancelled is cancelled with it: no report (U1).
            if state.wasCancelled && state.isAttaching { return (true, false, nil) }
            guard state.isUndecided else { return (false, false, nil) }
            state.remaining -= 1
            // The next input of a `completed` sequence may have to wait until that is read.
            if state.isOpen, state.remaining == 0, !isEach { state.scope = loop.scope }
            switch rule {
            case .untilFailure where isFailure: state.decision = .failure(observer)
            case .untilValue where !isFailure, .untilSettled: state.decision = .input(observer, index: index)
            case .untilValue:
                replaced = state.lastFailure
                state.lastFailure = observer
            default: break
            }
            if state.remaining == 0 { state.decideIfEnded(by: rule) }
            return (true, state.decision != nil && !state.isAttaching, replaced)
        }
        _ = consume replaced
        if !isInTime { hold(loop.scope) }
        if decides { decide(in: &loop) }
        return isInTime || consumesErrors
    }

    /// Whether the list's value is made of inputs that settled earlier.
    private var needsSettled: Bool {
        switch rule {
        case .all, .untilFailure: true
        case .untilValue, .untilSettled, .each: false
        }
    }

    /// Settles the list as its inputs have decided.
    private func decide(in loop: inout DrainLoop) {
        let (link, decision, observers, scope) = state.withLock { state in
            let link = state.link.take()
            let observers = link.map { _ in state.observers.takeAll() }
            return (link, state.decision.take(), observers, state.scope.take())
        }
        guard let link, let decision, let observers else { return }
        stop()
        let current = loop.scope
        if let scope { loop.scope = scope }
        defer { loop.scope = current }
        switch decision {
        case .all: loop.settle(source: link, finish(observers.inOrder, 0))
        case .input(let input, let index): loop.settle(source: link, finish([input], index))
        case .failure(let input): loop.settle(source: link, input.payload.copy())
        case .error(let error): loop.settle(source: link, .failure(error))
        }
        let rest = observers.inOrder
        consumeLaterErrors(of: rest)
        if cancelsRemaining {
            loop.jobs.append(.cancel(rest, of: self))
        } else {
            leave(rest, in: &loop, areCancelled: false)
        }
    }

    /// Leaves the inputs that are still pending, for which nothing is kept from here on (V3): their observers are
    /// detached. One that a cancel began with, and that waits for what becomes of that, no longer counts as a consumer.
    override func leave(_ observers: [Link], in loop: inout DrainLoop, areCancelled: Bool) {
        for observer in observers where !observer.isSettled {
            if areCancelled {
                observer.set(Link.Flags.onlyObserves)
            } else {
                loop.detachPending(observer)
            }
        }
        state.withLock { $0.owner.take() }?.didLeave(in: &loop)
    }

    /// Has the failures of inputs count as handled that come after the list is settled or cancelled, if it consumes
    /// errors (D3).
    func consumeLaterErrors(of observers: [Link]) {
        if consumesErrors { for observer in observers { observer.waitedFor?.disownFailure() } }
    }

    /// Gives up the list's Deferred, which is locked and being cancelled. Returns false if the list is about to
    /// settle it.
    ///
    /// - Parameter held: Holds the scopes of the inputs while what is below the list has not ended.
    func acceptCancel(_ held: HeldScopes?) -> Bool {
        state.withLock { state in
            // Releases no last reference: the caller has one.
            guard state.link.take() != nil else { return false }
            state.wasCancelled = true
            state.keep(held)
            return true
        }
    }

    /// Lets the scope of an input end no sooner than what is below the list, if that was cancelled: as where the input
    /// settles the list (Z1, Z2).
    private func hold(_ scope: FinalizerScope?) {
        guard let scope else { return }
        state.withLock { $0.held }?.hold(scope)
    }

    /// Ends the list's need for inputs.
    func stop() {
        let (owner, held) = state.withLock { ($0.owner, ($0.lastFailure.take(), $0.scope.take())) }
        owner?.didStop(self)
        withExtendedLifetime(held) {}
    }

    /// Decides a list that passes its inputs on, and that nobody reads any more.
    func leaveEarly() {
        let decides = state.withLock { state in
            guard state.isUndecided else { return false }
            state.decision = .all
            return !state.isAttaching
        }
        if decides { DrainLoop.with { decide(in: &$0) } }
    }

    // MARK: Adding inputs one by one

    /// Returns the list's Deferred, before there are inputs; ``add(_:_:)`` adds them, one call at a time,
    /// until ``close(_:_:)``.
    func open() -> Link {
        guard let link else { preconditionFailure("a list starts once") }
        return link
    }

    /// Observes one more input. If the list was cancelled, or is settled and cancels what remains, the input
    /// is cancelled as far as this list consumes it.
    func add(_ input: Link, _ site: DeferredDiagnostic.Location, in loop: inout DrainLoop) {
        let (index, scope) = state.withLock { state in
            state.isAttaching = true
            state.remaining += 1
            state.addedCount += 1
            return (state.addedCount - 1, state.scope.take())
        }
        _ = consume scope
        let observer = observe(input, index, site.of(.hidden))
        let (isDecided, isCancelled, isLate) = state.withLock { state in
            state.isAttaching = false
            let isPending = state.link != nil
            // Without it, one that has settled is received by now, or about to be.
            if isPending && (needsSettled || !observer.isSettled) { state.observers.added[index] = observer }
            let isCancelled = !isPending && (cancelsRemaining || state.wasCancelled)
            return (isPending && state.decision != nil, isCancelled, !isPending && !isCancelled)
        }
        if link?.mayLeadToCancellingList == true { observer.noteLeadsToCancellingList() }
        // The list was settled meanwhile, and leaves this input as it has left the others.
        if isLate {
            consumeLaterErrors(of: [observer])
            loop.detachPending(observer)
            return
        }
        // Searched for after the observer is in both places, so that of two threads that close a cycle one
        // sees it. The list fails, and the input with it: an error that is the list's own.
        let isCyclic = !isDecided && !isCancelled && (link.map { input.closesCycle(with: $0) } ?? false)
        if isCyclic {
            state.withLock { if $0.isUndecided { $0.decision = .error(DeferredError.cycle) } }
            input.disownFailure()
            loop.detachPending(input, isCyclic: true)
        }
        guard isDecided || isCancelled || isCyclic else { return }
        if !isCancelled { decide(in: &loop) }
        if isCancelled { loop.begin([CancelRequest(observer)]) }
    }

    /// Ends the adding of inputs.
    ///
    /// - Parameters:
    ///   - cutOff: Why no further input starts, if the sequence of inputs has not ended.
    ///   - missing: Stand for inputs that were never started, in the result of `.all`.
    func close(cutOff: (any Error)?, missing: [Link], in loop: inout DrainLoop) {
        let isDecided = state.withLock { state in
            guard state.isOpen else { return false }
            state.isOpen = false
            if case .all = rule, state.link != nil {
                for (offset, link) in missing.enumerated() {
                    state.observers.added[state.addedCount + offset] = link
                }
            }
            guard state.isUndecided else { return false }
            if let cutOff {
                state.decide(by: rule, cutOff: cutOff)
            } else {
                state.decideIfEnded(by: rule)
            }
            return state.decision != nil && !state.isAttaching
        }
        if isDecided { decide(in: &loop) }
    }

    // MARK: For searches

    override var link: Link? { state.withLock { $0.link } }

    /// Whether further inputs may change what settles the list: it has not been decided, settled or
    /// cancelled.
    var isUndecided: Bool { state.withLock { $0.isUndecided } }

    override var observers: [Link] {
        // Ordered under the lock, so that nothing reads the dictionary while it is changed in place.
        state.withLock { $0.observers.inOrder }
    }

    override var observerCount: Int { state.withLock { $0.observers.given.count + $0.observers.added.count } }

    /// Takes out the observers of the inputs, which are cancelled with them as far as this list consumes them
    /// (D3, D4).
    func takeObservers() -> [Link] { state.withLock { $0.observers.takeAll() }.inOrder }
}

/// What starts the inputs of a list one by one.
protocol ListOwner: AnyObject, Sendable {
    /// Called once, when the list is settled or cancelled, before any input is cancelled.
    func didStop(_ list: ListObserver)
    /// Called once, when the list has left its inputs, which may be cancelled by then.
    func didLeave(in loop: inout DrainLoop)
}

extension Payload {
    static func observer(_ list: ListObserver, index: Int) -> Payload {
        Payload(.observer, retaining: list, UInt(bitPattern: index))
    }

    /// The index of the input that an observer is for.
    var inputIndex: Int { Int(bitPattern: bits.1) }
}

extension ColdState {
    /// The list that completes this link, for a cancel. Sound: each list is a `ListObserver`.
    var listObserver: ListObserver? { list.map { unsafeDowncast($0, to: ListObserver.self) } }
}
