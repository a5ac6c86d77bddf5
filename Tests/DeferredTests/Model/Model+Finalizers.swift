/// Z1-Z3.
extension Model {
    func finally(_ handle: Handle, id: Int, _ finalizer: @escaping (Outcome) -> Void) {
        if let outcome = handle.node.outcome {
            finalizer(outcome)
        } else {
            handle.node.finalizers.append((id, finalizer))
        }
    }

    func openScope(of node: Node, _ outcome: Outcome) {
        guard !node.finalizers.isEmpty else { return }
        scopeCount += 1
        let scope = Scope(scopeCount, node, outcome)
        for finalizer in node.finalizers { scopeOfFinalizer[finalizer.id] = scope }
        node.finalizers = []
        join(node, [scope])
    }

    /// `node` belongs to what follows from those firings: they wait for it.
    func join(_ node: Node, _ scopes: [Scope]) {
        for scope in scopes where !node.scopes.contains(where: { $0 === scope }) {
            node.scopes.append(scope)
            scope.open.append(node)
        }
    }

    /// `node` is settled, and everybody has been told.
    func leaveScopes(_ node: Node) {
        let scopes = node.scopes
        node.scopes = []
        for scope in scopes { scope.open.removeAll { $0 === node } }
        // What is downstream was opened later.
        for scope in scopes.sorted(by: { $0.number > $1.number }) where scope.open.isEmpty {
            for finalizer in scope.finalizers.reversed() { finalizer.body(scope.outcome) }
        }
    }
}
