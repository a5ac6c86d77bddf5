extension ListObserver {
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
        /// Waits for the first failure, for the first value that the closure accepts, or else for all.
        case untilAccepted(@Sendable (_ value: borrowing Payload) -> Bool)
        /// Passes each input to the closure when it settles; resolves after the last.
        case each(@Sendable (_ index: Int, _ input: Link) -> Void)

        /// Whether the list's value is made of inputs that settled earlier.
        var needsSettled: Bool {
            switch self {
            case .all, .untilFailure: true
            case .untilValue, .untilSettled, .untilAccepted, .each: false
            }
        }

        /// Says what an input that has settled is to the list, and passes it on if that is the rule.
        @inline(__always)
        func contribution(of observer: Link, at index: Int) -> Contribution {
            let isFailure = observer.payload.isFailure
            switch self {
            case .all: return .none
            case .untilFailure: return isFailure ? .failure : .none
            case .untilValue: return isFailure ? .failureIfLast : .result
            case .untilSettled: return .result
            case .untilAccepted(let accepts):
                if isFailure { return .failure }
                return accepts(observer.payload) ? .result : .none
            case .each(let pass):
                pass(index, observer)
                return .none
            }
        }
    }

    /// What an input that has settled is to an undecided list, by its rule.
    enum Contribution {
        /// One input fewer that is pending.
        case none
        /// The list's value is made of it.
        case result
        /// Its failure is the list's.
        case failure
        /// Its failure is the list's if all others have failed before.
        case failureIfLast
    }

    /// What settles the list.
    enum Decision: Sendable {
        /// All inputs have settled as the rule requires.
        case all
        /// The list's value is made of this input: it has the first value, or is the first to settle.
        case input(Link, index: Int)
        /// This input's failure is the list's.
        case failure(Link)
        case error(any Error)
    }

    /// The links that observe the inputs, while they are needed.
    struct Observers: Sendable {
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

    /// What has become of the inputs, and what that decides. Each transition is one critical section, and says what is to
    /// be done after it; none releases anything.
    struct State {
        /// The list's own Deferred, until it is settled or cancelled.
        private(set) var link: Link?
        /// How many inputs are pending.
        private var remaining: Int
        private(set) var decision: Decision?
        private(set) var observers = Observers()
        /// Whether an input is being attached: the thread that attaches it then settles the list.
        private var isAttaching: Bool
        /// Whether the list's Deferred was cancelled.
        private var wasCancelled = false
        private var owner: (any ListOwner)?
        /// Whether inputs may yet be added.
        private var isOpen: Bool
        /// How many inputs were added.
        private var addedCount = 0
        /// Of a list that waits for a value, and whose inputs have all failed, the last; until further inputs are added.
        private var lastFailure: Link?
        private var kept = Kept.nothing

        /// In one word: the scope of an input is of no use to a list that was cancelled.
        private enum Kept {
            case nothing
            case scope(FinalizerScope)
            case held(HeldScopes)
        }

        /// The scope of the input that settled last, until it is known whether that settles the list (Z1).
        private var scope: FinalizerScope? {
            get { if case .scope(let scope) = kept { scope } else { nil } }
            set {
                if case .held = kept { return }
                kept = newValue.map { .scope($0) } ?? .nothing
            }
        }

        /// Holds the scopes of inputs that are cancelled with the list.
        var held: HeldScopes? { if case .held(let held) = kept { held } else { nil } }

        init(_ link: Link, count: Int, addsInputs: Bool, owner: (any ListOwner)?) {
            self.link = link
            remaining = count
            isAttaching = !addsInputs
            isOpen = addsInputs
            self.owner = owner
        }

        var isUndecided: Bool { link != nil && decision == nil }

        /// What is to be done after a transition.
        enum Next {
            case nothing
            /// The list is decided, and this thread settles it.
            case settle
        }

        private var next: Next { decision != nil && !isAttaching ? .settle : .nothing }

        /// Decides an undecided list whose inputs have all settled.
        private mutating func decideIfEnded(by rule: Rule) {
            guard isUndecided, remaining == 0, !isOpen else { return }
            switch rule {
            case .all, .each, .untilFailure, .untilAccepted: decision = .all
            case .untilSettled: decision = .error(DeferredError.empty)
            case .untilValue:
                decision = lastFailure.map { .failure($0) } ?? .error(DeferredError.empty)
            }
        }

        // MARK: Inputs settle

        /// All inputs of a list that adds none are attached.
        mutating func endAttaching(_ all: inout [Link], by rule: Rule) -> Next {
            isAttaching = false
            swap(&observers.given, &all)
            decideIfEnded(by: rule)
            return next
        }

        enum Receipt {
            /// The input settled when the list was decided or cancelled.
            case isLate
            /// The list goes on, or another thread settles it.
            case counts
            /// This thread settles the list.
            case settles
        }

        /// An input has settled.
        ///
        /// - Parameter current: The scope of the drain loop that notifies this list.
        @inline(__always)
        mutating func receive(
            _ contribution: Contribution, at index: Int, by observer: Link, rule: Rule,
            in current: FinalizerScope?
        ) -> Receipt {
            if !observers.added.isEmpty, !rule.needsSettled { observers.added[index] = nil }
            // An input that was being added when the list was cancelled is cancelled with it: no report (U1).
            if wasCancelled && isAttaching { return .counts }
            guard isUndecided else { return .isLate }
            remaining -= 1
            if isOpen, remaining == 0 {
                // The next input of a `completed` sequence may have to wait until that is read.
                if case .each = rule {} else { scope = current }
            }
            switch contribution {
            case .none: break
            case .result: decision = .input(observer, index: index)
            case .failure: decision = .failure(observer)
            case .failureIfLast: if remaining == 0 { lastFailure = observer }
            }
            if remaining == 0 { decideIfEnded(by: rule) }
            return next == .settle ? .settles : .counts
        }

        // MARK: The list is settled, cancelled or left

        enum Settlement {
            /// Another thread settles the list, or it was cancelled.
            case isLate(Decision?, FinalizerScope?)
            case settles(Link, Decision, Observers, FinalizerScope?)
        }

        /// A thread settles a decided list.
        mutating func settle() -> Settlement {
            let (link, decision, scope) = (link.take(), decision.take(), scope.take())
            guard let link, let decision else { return .isLate(decision, scope) }
            return .settles(link, decision, observers.takeAll(), scope)
        }

        enum Cancellation {
            /// The list's Deferred is given up. Its caller has a reference to that.
            case isAccepted
            case isBeingSettled
        }

        /// The list's Deferred is cancelled.
        ///
        /// - Parameter held: Holds the scopes of the inputs while what is below the list has not ended.
        mutating func cancel(_ held: HeldScopes?) -> Cancellation {
            guard link.take() != nil else { return .isBeingSettled }
            wasCancelled = true
            if let held {
                if let scope { held.hold(scope) }
                kept = .held(held)
            }
            return .isAccepted
        }

        /// Needs no inputs any more. Returns the list's owner, and what is to be released.
        mutating func stop() -> (owner: (any ListOwner)?, released: (Link?, FinalizerScope?)) {
            (owner, (lastFailure.take(), scope.take()))
        }

        /// Has left the inputs. Returns the list's owner, which it retains no more.
        mutating func takeOwner() -> (any ListOwner)? { owner.take() }

        mutating func takeObservers() -> Observers { observers.takeAll() }

        /// Decides a list that passes its inputs on, and that nobody reads any more.
        mutating func leaveEarly() -> Next {
            guard isUndecided else { return .nothing }
            decision = .all
            return next
        }

        // MARK: Inputs are added one by one

        /// An input is being added. Returns its index, and what is to be released.
        mutating func beginAdding() -> (index: Int, released: (FinalizerScope?, Link?)) {
            isAttaching = true
            remaining += 1
            addedCount += 1
            return (addedCount - 1, (scope.take(), lastFailure.take()))
        }

        enum Addition {
            case waits
            /// This thread settles the list.
            case settle
            /// The input is cancelled, as the list was, or as what remained of it.
            case cancel
            /// The list was settled meanwhile, and leaves this input as it has left the others.
            case leave
        }

        /// An input was attached.
        mutating func endAdding(
            _ observer: Link, at index: Int, by rule: Rule, cancelsRemaining: Bool
        ) -> Addition {
            isAttaching = false
            guard link != nil else { return cancelsRemaining || wasCancelled ? .cancel : .leave }
            // Without it, one that has settled is received by now, or about to be.
            if rule.needsSettled || !observer.isSettled { observers.added[index] = observer }
            return decision == nil ? .waits : .settle
        }

        /// An input waits for the list: a cycle, with which an undecided list fails.
        mutating func failForCycle() { if isUndecided { decision = .error(DeferredError.cycle) } }

        /// No further input is added.
        ///
        /// - Parameters:
        ///   - cutOff: Why no further input starts, if the sequence of inputs has not ended.
        ///   - missing: Stand for inputs that were never started, in the result of `.all`.
        mutating func close(by rule: Rule, cutOff: (any Error)?, missing: [Link]) -> Next {
            guard isOpen else { return .nothing }
            isOpen = false
            if case .all = rule, link != nil {
                for (offset, link) in missing.enumerated() { observers.added[addedCount + offset] = link }
            }
            guard isUndecided else { return .nothing }
            if let cutOff { decide(by: rule, cutOff: cutOff) } else { decideIfEnded(by: rule) }
            return next
        }

        /// Decides an undecided list that was cut off by an error before its sequence of inputs had ended, unless it
        /// waits for those that were started.
        private mutating func decide(by rule: Rule, cutOff error: any Error) {
            switch rule {
            case .untilFailure, .untilAccepted: decision = .error(error)
            case _ where remaining > 0: break
            case .all, .each: decision = .all
            case .untilValue, .untilSettled: decision = .error(error)
            }
        }
    }
}
