internal import Synchronization

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
        resolver.follow(AsyncLoop(resolver: resolver, step: step).run())
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

/// Whether a closure runs inside the call that attaches or submits it. A loop of such calls then continues in the
/// caller, and takes no stack.
///
/// The thread's number stands for the call: as long as it is stored here, that thread is in the call, and what else
/// runs on the thread runs inside it.
///
/// Sound as `@unchecked Sendable`: `ranInside` is read and written by the attaching thread alone, which is the one
/// that finds its own number in `thread`.
package final class AttachingCall: @unchecked Sendable {
    private let thread = Atomic<UInt>(Platform.currentThread)
    private var ranInside = false

    package init() {}

    /// Called by the closure. Returns whether it runs inside the attaching call.
    package func noteRun() -> Bool {
        guard thread.load(ordering: .relaxed) == Platform.currentThread else { return false }
        ranInside = true
        return true
    }

    /// Called when the call has returned. Returns whether the closure ran inside it.
    package func end() -> Bool {
        thread.store(0, ordering: .relaxed)
        return ranInside
    }
}
