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
    private let outcome: Payload
    private var enclosing: [FinalizerScope]

    init(_ finalizers: [Entry], _ outcome: consuming Payload, in enclosing: [FinalizerScope]) {
        self.finalizers = finalizers
        self.outcome = outcome
        self.enclosing = enclosing
    }

    /// Returns a scope that retains both.
    static func join(_ first: FinalizerScope, _ second: FinalizerScope?) -> FinalizerScope {
        guard let second, second !== first else { return first }
        return FinalizerScope([], .none, in: [first, second])
    }

    /// Runs the finalizers, and returns the scopes that may end now. What comes after a finalizer that a
    /// dispatcher runs is a scope that its work retains, too.
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
            // Retained here as well, so that finalizers that run within the call are not nested in one
            // another (F6).
            let rest = FinalizerScope(finalizers.takeAll(), outcome.copy(), in: enclosing.takeAll())
            dispatcher.dispatchGuaranteed { [runs] in
                for run in runs { run(rest.outcome) }
            }
            return [rest]
        }
        return enclosing.takeAll()
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
typealias Finalizer = @Sendable (borrowing Payload) -> Void
