/// Runs a step again and again, each when the one before has succeeded: a loop where steps are done at once, and a
/// chain of constant length where they have to be waited for (L6), so that neither takes stack.
struct AsyncLoop: Sendable {
    /// What follows a step.
    enum Next: Sendable { case `continue`, end }

    private let resolver: Resolver<Void>
    private let step: @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws -> Deferred<Next>

    /// Returns a Deferred that is resolved when a step returns `.end`, and fails with the first step that fails. Its
    /// cancel cancels the step in progress, which is then the last.
    ///
    /// - Parameter step: Starts a step. Its argument returns whether the loop was cancelled.
    static func deferred(
        fileID: StaticString, line: UInt,
        _ step: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws -> Deferred<Next>
    ) -> Deferred<Void> {
        let (deferred, resolver) = Deferred<Void>.withResolver(fileID: fileID, line: line)
        resolver.follow(only: AsyncLoop(resolver: resolver, step: step).run())
        return deferred
    }

    private func run() -> Deferred<Void> {
        while true {
            // Steps that never wait leave the cancel no other place to take effect.
            if resolver.isCancelled { return .rejected(CancellationError()) }
            let attaching = AttachingCall()
            let rest = Deferred<Next>(following: { () throws -> Deferred<Next> in
                try step { [resolver] in resolver.isCancelled }
            })
            .then { next -> Deferred<Void> in
                switch next {
                case .end: .resolved()
                case .continue: attaching.noteRun() ? .resolved() : run()
                }
            }
            if !attaching.end() { return rest }
        }
    }
}
