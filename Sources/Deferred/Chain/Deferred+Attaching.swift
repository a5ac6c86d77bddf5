/// Attaching: the one way in which every function of the chain adds a link.
///
/// The functions of the chain are `@_alwaysEmitIntoClient`: as every caller inlines them, the copies without
/// specialisation that a library contains of inlinable functions would never run, and add 100 kB to each program.
extension Deferred {
    /// Attaches `closure` and returns the next position in the chain, whose result is what `run` makes of the
    /// closure and the outcome.
    ///
    /// Inlined into the caller, which knows the closure and its types: if this Deferred is settled and idle, the
    /// closure runs here and is not stored.
    @inlinable
    @inline(__always)
    func attach<Closure: StoredClosure, U>(
        _ dispatcher: (any Dispatcher)?, _ site: DeferredDiagnostic.Location, _ closure: Closure,
        _ run: @escaping @Sendable (borrowing Closure, borrowing Payload) -> Payload
    ) -> Deferred<U> {
        // Neither `if let`, `case .none` nor `dispatcher!`, which copy the existential.
        guard dispatcher == nil else {
            return Deferred<U>(link.attach(.dispatched(to: dispatcher, .step(closure, run)), site))
        }
        if link.beginStepInPlace() {
            return Deferred<U>(link.endStepInPlace(run(closure, link.payload), site))
        }
        return Deferred<U>(link.attach(.step(closure, run), site))
    }

    /// Attaches a closure that is a step itself: of two closures, or of this library's own.
    @inlinable
    @inline(__always)
    func attach<U>(
        _ dispatcher: (any Dispatcher)?, _ site: DeferredDiagnostic.Location, _ step: @escaping Payload.Step
    ) -> Deferred<U> {
        attach(dispatcher, site, StoredStep(step)) { step, input in step.closure(input) }
    }
}

extension Deferred {
    /// Has a failure of this pending Deferred concern only what is attached to it: it is never reported as unhandled
    /// when its handles are released. For the steps inside an operation of the library.
    package func disownFailure() { link.disownFailure() }

    /// Has a cancel of several Deferreds run this one's canceller before others while `isWaiting` returns true: while
    /// the work that it stops has yet to begin (C7). Called without a lock, on the thread that cancels.
    package func setIsWaiting(_ isWaiting: @escaping @Sendable () -> Bool) { link.setIsWaiting(isWaiting) }
}
