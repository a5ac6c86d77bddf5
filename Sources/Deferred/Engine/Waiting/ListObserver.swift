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
    /// Returns the list's value, made of its settled inputs: of all in their order, or for `.untilValue` and
    /// `.untilSettled` of the one that decided, whose index in the list is `index`. The same for
    /// `.untilAccepted`, if one decided.
    @usableFromInline
    typealias Finish = @Sendable (_ inputs: [Link], _ index: Int) -> Payload

    private let rule: Rule
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
        let isEach = if case .each = rule { true } else { false }
        self.consumesErrors = isEach || consumesErrors
        cancels = cancelsRemaining
        self.finish = finish
        let link = Link(.source, .none, site)
        state = SpinLocked(State(link, count: count, addsInputs: addsInputs, owner: owner))
        super.init()
        link.ensureColdState().list = self
    }

    /// Observes the inputs, which may settle meanwhile: all are attached before the list is settled, and
    /// before any is cancelled (D3).
    func start(_ inputs: [Link], _ site: DeferredDiagnostic.Location) -> Link {
        let link = open()
        let site = site.of(.hidden)
        var observers = inputs.indices.map { observe(inputs[$0], $0, site) }
        if state.withLock({ $0.endAttaching(&observers, by: rule) }) == .settle {
            DrainLoop.with { decide(in: &$0) }
        }
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
        let contribution = rule.contribution(of: observer, at: index)
        let receipt = state.withLock {
            $0.receive(contribution, at: index, by: observer, rule: rule, in: loop.scope)
        }
        switch receipt {
        case .isLate:
            hold(loop.scope)
            return consumesErrors
        case .counts: break
        case .settles: decide(in: &loop)
        }
        return true
    }

    /// Settles the list as its inputs have decided.
    private func decide(in loop: inout DrainLoop) {
        let settlement = state.withLock { $0.settle() }
        guard case .settles(let link, let decision, let observers, let scope) = settlement else { return }
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
        state.withLock { $0.takeOwner() }?.didLeave(in: &loop)
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
    func acceptCancel(_ held: HeldScopes?) -> Bool { state.withLock { $0.cancel(held) } == .isAccepted }

    /// Lets the scope of an input end no sooner than what is below the list, if that was cancelled: as where the input
    /// settles the list (Z1, Z2).
    private func hold(_ scope: FinalizerScope?) {
        guard let scope else { return }
        state.withLock { $0.held }?.hold(scope)
    }

    /// Ends the list's need for inputs.
    func stop() {
        let (owner, released) = state.withLock { $0.stop() }
        owner?.didStop(self)
        withExtendedLifetime(released) {}
    }

    /// Decides a list that passes its inputs on, and that nobody reads any more.
    func leaveEarly() {
        if state.withLock({ $0.leaveEarly() }) == .settle { DrainLoop.with { decide(in: &$0) } }
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
        let (index, released) = state.withLock { $0.beginAdding() }
        withExtendedLifetime(released) {}
        let observer = observe(input, index, site.of(.hidden))
        let addition = state.withLock {
            $0.endAdding(observer, at: index, by: rule, cancelsRemaining: cancelsRemaining)
        }
        if link?.mayLeadToCancellingList == true { observer.noteLeadsToCancellingList() }
        switch addition {
        case .cancel: loop.begin([CancelRequest(observer)])
        case .leave:
            consumeLaterErrors(of: [observer])
            loop.detachPending(observer)
        case .settle: decide(in: &loop)
        case .waits:
            // Searched for after the observer is in both places, so that of two threads that close a cycle one
            // sees it. The list fails, and the input with it: an error that is the list's own.
            guard let link, input.closesCycle(with: link) else { return }
            state.withLock { $0.failForCycle() }
            input.disownFailure()
            loop.detachPending(input, isCyclic: true)
            decide(in: &loop)
        }
    }

    /// Ends the adding of inputs.
    ///
    /// - Parameters:
    ///   - cutOff: Why no further input starts, if the sequence of inputs has not ended.
    ///   - missing: Stand for inputs that were never started, in the result of `.all`.
    func close(cutOff: (any Error)?, missing: [Link], in loop: inout DrainLoop) {
        if state.withLock({ $0.close(by: rule, cutOff: cutOff, missing: missing) }) == .settle {
            decide(in: &loop)
        }
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
    func takeObservers() -> [Link] { state.withLock { $0.takeObservers() }.inOrder }
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
