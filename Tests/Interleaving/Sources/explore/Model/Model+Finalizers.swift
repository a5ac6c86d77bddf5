/// Z1-Z3.
extension Model {
    func finally(_ handle: Handle, id: Int, acts: Bool, _ finalizer: @escaping (ModelOutcome) -> Void) {
        if let outcome = handle.node.outcome {
            // At once, so that it has the order of the finalizer that adds it (Z2).
            finalizer(outcome)
        } else {
            handle.node.finalizers.append(Finalizer(id: id, acts: acts, body: finalizer))
        }
    }

    func openScope(of node: Node, _ outcome: ModelOutcome) {
        guard !node.finalizers.isEmpty else { return }
        scopeCount += 1
        let scope = Scope(scopeCount, node, outcome)
        node.finalizers = []
        join(node, [scope])
    }

    /// Adds `node` to the work caused by those completions, whose finalizers wait for it.
    func join(_ node: Node, _ scopes: [Scope]) {
        for scope in scopes where !node.scopes.contains(where: { $0 === scope }) {
            node.scopes.append(scope)
            scope.open.append(node)
        }
    }

    /// Returns a new scope for what a cancel ends ahead of what that has waited for.
    func scopeToHold() -> Scope {
        scopeCount += 1
        return Scope(scopeCount, holder: Node(0, .settled))
    }

    /// Z2: what comes from upstream ends no sooner than what a cancel has ended before it, further down. If it has come to
    /// wait for that, it is further down itself.
    func hold(_ scopes: [Scope], in scope: Scope) {
        guard let holder = scope.holder, !scope.open.isEmpty,
            !scopes.contains(where: { $0 === scope || $0.isInside(scope) })
        else { return }
        join(holder, scopes)
        scope.enclosing += scopes
    }

    /// Called when `node` is settled and all its consumers have been notified.
    func leaveScopes(_ node: Node) {
        let scopes = node.scopes
        node.scopes = []
        for scope in scopes { scope.open.removeAll { $0 === node } }
        // Scopes further downstream were opened later.
        let ended = scopes.sorted { $0.number > $1.number }.filter { $0.open.isEmpty }
        if ended.contains(where: { $0.finalizers.contains { $0.acts } }),
            !zip(ended, ended.dropFirst()).allSatisfy({ $0.isInside($1) })
        {
            undetermined = "finalizers that act end together, and Z2 leaves their order open"
        }
        for scope in ended {
            for finalizer in scope.finalizers.reversed() {
                pass()
                finalizer.body(scope.outcome)
            }
            if let holder = scope.holder { leaveScopes(holder) }
        }
    }
}
