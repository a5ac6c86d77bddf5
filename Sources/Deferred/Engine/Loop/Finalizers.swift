/// Adding finalizers, and running them on dispatchers. ``FinalizerScope`` decides when they run.
extension Link {
    /// Adds a finalizer, or runs it at once if the link is settled (Z3).
    @usableFromInline
    func addFinalizer(_ dispatcher: (any Dispatcher)?, _ finalizer: @escaping Finalizer) {
        let finalizer = ProcessFlags.areNone ? finalizer : noting(finalizer)
        let dispatcher = dispatcher?.retainedByChains
        let coldState = ensureColdState()
        FinalizerScope.noteUse()
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

    /// Returns a finalizer that carries the present task-local values, and whose run is recorded.
    private func noting(_ finalizer: @escaping Finalizer) -> Finalizer {
        var finalizer = finalizer
        if let values = DeferredTaskLocals.carried {
            let inner = finalizer
            finalizer = { outcome in values.run { inner(outcome) } }
        }
        return Recording.isOn ? Recording.noting(finalizer, of: self) : finalizer
    }
}

extension DrainLoop {
    /// Keeps the current scope open until `link` is settled and drained.
    mutating func retainScope(with link: Link) {
        if let scope { link.retainScope(scope) }
    }
}

extension Link {
    /// Keeps a scope open until this link is settled and drained.
    func retainScope(_ scope: FinalizerScope) {
        let coldState = ensureColdState()
        locked {
            coldState.retainedScope = coldState.retainedScope.map { FinalizerScope.join($0, scope) } ?? scope
        }
    }
}
