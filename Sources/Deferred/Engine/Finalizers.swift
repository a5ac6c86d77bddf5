/// What a finalizer waits for: one completion, with all that follows from it (Z1).
///
/// A link with finalizers opens a scope when it is settled. The drain loop retains the scope while it
/// notifies the links downstream. A link that cannot be finished within the drain loop (it waits for a nested
/// one, its step was submitted to a dispatcher, it is paused) retains the scope until its own part is
/// drained. The `deinit` of the scope runs the finalizers. Chains without finalizers pay nothing.
///
/// A scope retains the scopes that it was opened in, so that a finalizer further downstream runs before one
/// upstream (Z2).
///
/// Sound as `@unchecked Sendable`: `outcome` never changes; the other properties change only in the `deinit`
/// of this scope, or of one that has the last reference to it.
@usableFromInline
final class FinalizerScope: @unchecked Sendable {
    private var finalizers: [Finalizer]
    private let outcome: Link.Payload
    private var enclosing: [FinalizerScope]

    init(_ finalizers: [Finalizer], _ outcome: consuming Link.Payload, in enclosing: [FinalizerScope]) {
        self.finalizers = finalizers
        self.outcome = outcome
        self.enclosing = enclosing
    }

    /// Returns a scope that retains both.
    static func join(_ first: FinalizerScope, _ second: FinalizerScope?) -> FinalizerScope {
        guard let second, second !== first else { return first }
        return FinalizerScope([], .none, in: [first, second])
    }

    private func finish() {
        let added = finalizers
        finalizers = []
        for finalizer in added.reversed() { finalizer(outcome) }
    }

    deinit {
        finish()
        // A loop, since a chain of a million links with finalizers is as many scopes in one another (F6).
        var ending = enclosing
        enclosing = []
        while var scope = ending.popLast() {
            if isKnownUniquelyReferenced(&scope) {
                scope.finish()
                ending.append(contentsOf: scope.enclosing)
                scope.enclosing = []
            }
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
        let added: Finalizer =
            if let dispatcher = dispatcher?.retainedByChains {
                { outcome in
                    let outcome = outcome.copy()
                    dispatcher.dispatchGuaranteed { finalizer(outcome) }
                }
            } else {
                finalizer
            }
        let coldState = ensureColdState()
        let word = lock()
        guard word & Word.settled == 0 else {
            unlock(word)
            return added(payload)
        }
        coldState.finalizers.append(added)
        unlock(word)
    }
}
