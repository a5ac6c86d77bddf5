/// What a finalizer waits for: one completion, with all that follows from it (Z1).
///
/// A link with finalizers opens a scope when it is settled. The drain loop retains the scope while it
/// notifies the links downstream. A link that cannot be finished within the drain loop (it waits for a nested
/// one, its step was submitted to a dispatcher, it is paused) retains the scope until its own part is
/// drained. The `deinit` of the scope runs the finalizers. Chains without finalizers pay nothing.
///
/// A scope retains the scopes that it was opened in, so that a finalizer further downstream runs before one
/// upstream (Z2). What comes after a finalizer that has a dispatcher waits until that has run.
///
/// Sound as `@unchecked Sendable`: `outcome` never changes; the other properties change only in the `deinit`
/// of this scope, or of one that has the last reference to it.
@usableFromInline
final class FinalizerScope: @unchecked Sendable {
    /// A finalizer, and where it runs; without a dispatcher, where the scope ends.
    struct Entry: Sendable {
        let dispatcher: (any Dispatcher & AnyObject)?
        let run: Finalizer
    }

    private var finalizers: [Entry]
    private let outcome: Link.Payload
    private var enclosing: [FinalizerScope]

    init(_ finalizers: [Entry], _ outcome: consuming Link.Payload, in enclosing: [FinalizerScope]) {
        self.finalizers = finalizers
        self.outcome = outcome
        self.enclosing = enclosing
    }

    /// Returns a scope that retains both.
    static func join(_ first: FinalizerScope, _ second: FinalizerScope?) -> FinalizerScope {
        guard let second, second !== first else { return first }
        return FinalizerScope([], .none, in: [first, second])
    }

    /// Runs the finalizers, and returns the scopes that end now. If a dispatcher is still to run a finalizer,
    /// what comes after that is left to it.
    private func finish() -> [FinalizerScope] {
        while let last = finalizers.popLast() {
            guard let dispatcher = last.dispatcher else {
                last.run(outcome)
                continue
            }
            // The next ones on the same dispatcher run with it. Not the entries: work must not retain its
            // dispatcher (F4).
            var runs = [last.run]
            while let next = finalizers.last, next.dispatcher === dispatcher {
                runs.append(finalizers.removeLast().run)
            }
            // The second of two continues with the rest: the finalizer when it has run, and its submission when that
            // has returned. So finalizers that run within the call are not nested in one another (F6).
            let turn = SpinLocked((isSecond: false, rest: Optional(takeRest())))
            let pass: @Sendable () -> FinalizerScope? = {
                turn.withLock { turn in
                    defer { turn.isSecond = true }
                    return turn.isSecond ? turn.rest.take() : nil
                }
            }
            let outcome = outcome.copy()
            dispatcher.dispatchGuaranteed { [runs] in
                for run in runs { run(outcome) }
                _ = pass()
            }
            return pass().map { [$0] } ?? []
        }
        return enclosing.takeAll()
    }

    private func takeRest() -> FinalizerScope {
        FinalizerScope(finalizers.takeAll(), outcome.copy(), in: enclosing.takeAll())
    }

    deinit {
        // A loop, since a chain of a million links with finalizers is as many scopes in one another (F6).
        var ending = finish()
        while var scope = ending.popLast() {
            if isKnownUniquelyReferenced(&scope) { ending += scope.finish() }
        }
    }
}

/// A finalizer. It runs once. If a dispatcher releases it without running it, it runs at once, since it may
/// be what releases a resource.
@usableFromInline
typealias Finalizer = @Sendable (borrowing Link.Payload) -> Void

/// Adding finalizers, and running them on dispatchers. ``FinalizerScope`` decides when they run.
extension Link {
    /// Adds a finalizer, or runs it at once if the link is settled (Z3).
    @usableFromInline
    func addFinalizer(_ dispatcher: (any Dispatcher)?, _ finalizer: @escaping Finalizer) {
        let finalizer = Recording.isOn ? Recording.noting(finalizer, of: self) : finalizer
        let dispatcher = dispatcher?.retainedByChains
        let coldState = ensureColdState()
        let word = lock()
        guard word & Word.settled == 0 else {
            unlock(word)
            guard let dispatcher else { return finalizer(payload) }
            let outcome = payload.copy()
            return dispatcher.dispatchGuaranteed { finalizer(outcome) }
        }
        coldState.finalizers.append(.init(dispatcher: dispatcher, run: finalizer))
        unlock(word)
    }
}
