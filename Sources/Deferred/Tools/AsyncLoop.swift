internal import Synchronization

/// Runs a step again and again, each when the one before has succeeded: a loop where steps are done at once, and a
/// chain of constant length where they have to be waited for (L6), so that neither takes stack.
package enum AsyncLoop {
    /// Starts a step. Its argument returns whether the loop was cancelled.
    package typealias Step =
        @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws -> Deferred<NextStep>

    /// Returns a Deferred that is resolved when a step returns `.end`, and fails with the first step that fails. Its
    /// cancel cancels the step in progress, which is then the last.
    static func deferred(_ fileID: StaticString, _ line: UInt, _ step: @escaping Step) -> Deferred<Void> {
        let (deferred, resolver) = Deferred<Void>.withResolver(fileID: fileID, line: line)
        run(completing: resolver, result: { .resolved() }, step)
        return deferred
    }

    /// Runs such a loop for the Deferred that `resolver` completes, and which has the outcome of `result` at the end.
    package static func run<Value>(
        completing resolver: Deferred<Value>.Resolver, result: @escaping @Sendable () -> Deferred<Value>,
        _ step: @escaping Step
    ) {
        @Sendable func run() -> Deferred<Value> {
            while true {
                // Steps that never wait leave the cancel no other place to take effect.
                if resolver.isCancelled { return .rejected(CancellationError()) }
                let attaching = AttachingCall()
                let rest = Deferred(following: { try step { resolver.isCancelled } })
                    .then { next -> Deferred<Value> in
                        switch next {
                        case .end: return result()
                        case .abandoned:
                            resolver.disownFailure()
                            return .rejected(DeferredError.abandoned)
                        // Where the loop above runs the next step, nothing receives this.
                        case .continue: return attaching.noteRun() ? .rejected(CancellationError()) : run()
                        }
                    }
                if !attaching.end() { return rest }
            }
        }
        resolver.follow(orCancel: run())
    }
}

/// What follows a step of an ``AsyncLoop``.
package enum NextStep: Sendable {
    case `continue`, end
    /// Nothing is left that could run a further step: the loop fails with ``DeferredError/abandoned``, which is
    /// reported only if something waits for it (U1).
    case abandoned
}

extension Deferred {
    /// Runs `body`, as a step of a loop, when this Deferred is resolved: at once, or on `place`. The loop ends with the
    /// queue that this waits for.
    package func loopStep(
        on place: (any Dispatcher)? = nil, _ body: @escaping @Sendable (Value) throws -> Deferred<NextStep>
    ) -> Deferred<NextStep> {
        then(
            on: place, body,
            orElse: { error throws -> Deferred<NextStep> in
                switch error as? DeferredError {
                case .finished: return .resolved(.end)
                case .abandoned: return .resolved(.abandoned)
                default: throw error
                }
            })
    }
}

/// Whether a closure runs inside the call that attaches or submits it. A loop of such calls then continues in the
/// caller, and takes no stack.
///
/// The thread's number stands for the call: as long as it is stored here, that thread is in the call, and what else
/// runs on the thread runs inside it. The numbers of threads are even.
package final class AttachingCall: Sendable {
    private let thread = Atomic<UInt>(Platform.currentThread)
    private static let ranInside: UInt = 1

    package init() {}

    /// Called by the closure, once. Returns whether it runs inside the attaching call.
    package func noteRun() -> Bool {
        thread.compareExchange(
            expected: Platform.currentThread, desired: Self.ranInside, ordering: .relaxed
        ).exchanged
    }

    /// Called when the call has returned. Returns whether the closure ran inside it.
    package func end() -> Bool { thread.exchange(0, ordering: .relaxed) == Self.ranInside }
}
