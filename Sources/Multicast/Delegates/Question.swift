internal import Deferred

/// A question that is put to one delegate after the other, each on its dispatcher. (Put to all at the same time, it is a
/// ``Poll``.)
///
/// Delegates without a dispatcher whose answers are there are asked in a loop, within the call that asks. Where one has to
/// be waited for, an ``AsyncLoop`` continues.
///
/// The thread that runs a step of the loop owns the question until it submits work to a dispatcher or waits for a
/// promised answer; the work, or the callback, owns it from then on. The result is therefore completed where the last
/// delegate answered, and the next delegate without a dispatcher is called there.
///
/// Sound as `@unchecked Sendable`: the mutable properties are used by the owner alone. Ownership moves
/// with the work of a dispatcher or with a callback of a Deferred, which order what happened before with what
/// happens after.
final class Question<Delegate, Answer: Sendable>: @unchecked Sendable {
    /// Receives the result so far and a delegate, which replies with the result and whether the question goes on.
    typealias Body = @Sendable (consuming Answer, Delegate) throws -> Reply<MulticastStep<Answer>>

    /// What comes after the delegates that were asked.
    private enum Next {
        /// The question has its result.
        case end
        /// A delegate has promised its answer.
        case promised(Deferred<NextStep>)
        /// A delegate is to be called on its dispatcher.
        case submit(Listener, to: any Dispatcher)
    }

    /// The location of the call that asks, for diagnostics.
    private let site: CallSite
    private let body: Body
    /// Set when the question begins to wait, which does not retain its delegates.
    private weak var registry: ListenerRegistry?
    /// The delegates that are still to be asked.
    private var rest: ArraySlice<Registration>
    /// Nil while a delegate is asked, so that a collection is changed in place.
    private var answer: Answer?
    /// The promise that `answer` is from, if it is from one: received when `answer` is passed on to a delegate, or when
    /// the result is (V1).
    private var promised: PassedOutcome<MulticastStep<Answer>>?
    /// What the question waits for first, until it does.
    private var first: Next?

    private init(
        _ delegates: MulticastDelegate<Delegate>, _ initial: consuming Answer, _ site: CallSite,
        _ body: @escaping Body
    ) {
        rest = delegates.registrations[...]
        answer = consume initial
        self.site = site
        self.body = body
    }

    /// Asks the delegates, and returns a Deferred with the result.
    static func ask(
        _ delegates: MulticastDelegate<Delegate>, _ initial: consuming Answer, _ site: CallSite,
        _ body: @escaping Body
    ) -> Deferred<Answer> {
        let question = Question(delegates, consume initial, site, carrying(body))
        do {
            // Nobody can cancel the result before it is returned.
            switch try question.ask(in: delegates.registry, isCancelled: { false }) {
            case .end: return question.takeResult()
            case let next: return question.proceed(with: next, in: delegates.registry)
            }
        } catch {
            return .rejected(error, fileID: site.fileID, line: site.line)
        }
    }

    /// Returns `body`, which carries the task-local values of this call (X2).
    private static func carrying(_ body: @escaping Body) -> Body {
        guard let values = DeferredTaskLocals.carried else { return body }
        return { (answer: consuming Answer, delegate) in
            // Moved from here to `body`, so that a change in place copies nothing.
            var answer: Answer? = consume answer
            return try values.run { () throws -> Reply<MulticastStep<Answer>> in
                try body(answer.take()!, delegate)
            }
        }
    }

    /// Asks until a delegate has to be waited for, or submitted to its dispatcher.
    private func ask(in registry: ListenerRegistry?, isCancelled: () -> Bool) throws -> Next {
        while let next = rest.popFirst() {
            if isCancelled() { throw CancellationError() }
            guard let object = next.listener.recipient(in: registry) else { continue }
            if let dispatcher = next.dispatcher { return .submit(next.listener, to: dispatcher) }
            switch try put(to: next.listener, object) {
            case .continue: break
            case .end: return .end
            case .wait(let promise): return .promised(promise)
            }
        }
        return .end
    }

    private func takeResult() -> Deferred<Answer> {
        let answer = answer.take()!
        guard let promised = promised.take() else {
            return .resolved(answer, fileID: site.fileID, line: site.line)
        }
        return promised.deferred({ _ in answer }, fileID: site.fileID, line: site.line)
    }
}

// MARK: - Calling one delegate

extension Question {
    private enum Asked {
        case `continue`, end
        case wait(Deferred<NextStep>)
    }

    /// Calls the body with one delegate.
    private func put(to listener: Listener, _ object: AnyObject) throws -> Asked {
        let delegate = MulticastDelegate<Delegate>.delegate(of: listener, object)
        promised.take()?.receive()
        switch try body(answer.take()!, delegate) {
        case .now(let step): return note(step) == .end ? .end : .continue
        case .later(let promise):
            let wait = promise.mapOutcome(
                { [self] outcome -> NextStep in
                    let step = outcome.result
                    if case .failure(DeferredError.abandoned) = step { return .abandoned }
                    if outcome.isReturnable { promised = outcome }
                    return note(try step.get())
                }, fileID: site.fileID, line: site.line)
            if case .success(.continue) = wait.currentResult { return .continue }
            return .wait(wait)
        }
    }

    private func note(_ step: MulticastStep<Answer>) -> NextStep {
        answer = step.result
        return step.isLast ? .end : .continue
    }
}

// MARK: - Waiting

extension Question {
    /// Continues the question with what is to be waited for, and returns its result.
    private func proceed(with next: Next, in registry: ListenerRegistry) -> Deferred<Answer> {
        let (result, resolver) = Deferred<Answer>.withResolver(fileID: site.fileID, line: site.line)
        // The rest retains no dispatcher from here on.
        rest = rest.map(\.referringWeakly)[...]
        self.registry = registry
        first = next
        AsyncLoop.run(
            completing: resolver, result: { [self] in takeResult() },
            { [self] isCancelled in try nextStep(isCancelled) })
        return result
    }

    /// Asks until there is something to wait for, and returns that.
    private func nextStep(_ isCancelled: @escaping @Sendable () -> Bool) throws -> Deferred<NextStep> {
        switch try first.take() ?? ask(in: registry, isCancelled: isCancelled) {
        case .end: return .resolved(.end)
        case .promised(let promise): return promise
        case .submit(let listener, let dispatcher): return submit(listener, to: dispatcher, isCancelled)
        }
    }

    /// Has a delegate called on its dispatcher, where the question then continues.
    private func submit(
        _ listener: Listener, to dispatcher: any Dispatcher, _ isCancelled: @escaping @Sendable () -> Bool
    ) -> Deferred<NextStep> {
        let submitting = AttachingCall()
        let (hop, resolver) = Deferred<Void>.withResolver()
        // Attached before the work is submitted, so that the question goes on where the delegate has answered.
        let wait = hop.map(on: dispatcher) {}.loopStep { [self] in
            let asked: Asked =
                if let object = listener.recipient(in: registry) {
                    try put(to: listener, object)
                } else {
                    .continue
                }
            switch asked {
            case .end: return .resolved(.end)
            case .wait(let promise): return promise
            // Within the call below, the loop goes on, which takes no stack.
            case .continue: return submitting.noteRun() ? .resolved(.continue) : try nextStep(isCancelled)
            }
        }
        resolver.resolve()
        _ = submitting.end()
        return wait
    }
}
