internal import Deferred

/// A question that is put to one delegate after the other, each on its dispatcher. Put to all at the same time, it is a
/// question for each: ``each(of:_:_:_:_:)``.
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

    /// The location of the call that asks, for diagnostics.
    private let site: CallSite
    private let body: Body
    private weak var registry: ListenerRegistry?
    /// The delegates that are still to be asked, the next one last.
    private var rest: [Registration]
    /// Nil while a delegate is asked, so that a collection is changed in place.
    private var answer: Answer?
    /// The promise that `answer` is from, if it is from one: received when `answer` is passed on to a delegate, or when
    /// the result is (V1).
    private var promised: PassedOutcome<MulticastStep<Answer>>?

    private init(
        _ registrations: [Registration], in registry: ListenerRegistry, _ initial: consuming Answer,
        _ site: CallSite, _ body: @escaping Body
    ) {
        rest = registrations.reversed()
        self.registry = registry
        answer = consume initial
        self.site = site
        self.body = body
    }

    /// Asks the delegates, and returns a Deferred with the result.
    static func ask(
        _ delegates: MulticastDelegate<Delegate>, _ initial: consuming Answer, _ site: CallSite,
        _ body: @escaping Body
    ) -> Deferred<Answer> {
        let (result, resolver) = Deferred<Answer>.withResolver(fileID: site.fileID, line: site.line)
        let registrations = delegates.registrations.map(\.referringWeakly)
        Question(registrations, in: delegates.registry, consume initial, site, carrying(body))
            .ask(completing: resolver)
        return result
    }

    /// Asks each delegate, and returns what `attach` makes of their answers. That is called before, so that what it
    /// attaches runs where the answers arrive. The answer of a delegate that has been deallocated or removed is
    /// `initial`.
    static func each<Result>(
        of delegates: MulticastDelegate<Delegate>, _ initial: Answer, _ site: CallSite,
        _ body: @escaping Body, _ attach: ([Deferred<Answer>]) -> Result
    ) -> Result {
        let registrations = delegates.registrations
        let body = carrying(body)
        let promises = registrations.map { _ in
            Deferred<Answer>.withResolver(fileID: site.fileID, line: site.line)
        }
        let result = attach(promises.map(\.deferred))
        // The question is submitted to those with a dispatcher before it calls the others.
        for isDispatched in [true, false] {
            for (registration, (_, resolver)) in zip(registrations, promises)
            where registration.isDispatched == isDispatched && !resolver.isCancelled {
                Question([registration], in: delegates.registry, initial, site, body)
                    .ask(completing: resolver)
            }
        }
        return result
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

    private func ask(completing resolver: Deferred<Answer>.Resolver) {
        AsyncLoop.run(
            completing: resolver, result: { [self] in takeResult() },
            { [self] isCancelled in try proceed(isCancelled) })
    }

    private func takeResult() -> Deferred<Answer> {
        let answer = answer.take()!
        guard let promised = promised.take() else {
            return .resolved(answer, fileID: site.fileID, line: site.line)
        }
        return promised.deferred({ _ in answer }, fileID: site.fileID, line: site.line)
    }

    /// Asks until a delegate has to be waited for, and returns the wait.
    private func proceed(_ isCancelled: @escaping @Sendable () -> Bool) throws -> Deferred<NextStep> {
        while let next = rest.popLast() {
            if isCancelled() { return .rejected(CancellationError()) }
            guard let dispatcher = next.dispatcher, next.listener.recipient(in: registry) != nil else {
                if let wait = try put(to: next.listener) { return wait }
                continue
            }
            let submitting = AttachingCall()
            let (hop, resolver) = Deferred<Void>.withResolver()
            // Attached before the work is submitted, so that the question goes on where the delegate has answered.
            let wait = hop.map(on: dispatcher) {}.loopStep { [self, listener = next.listener] in
                if let wait = try put(to: listener) { return wait }
                // Within the call below, the loop goes on, which takes no stack.
                return submitting.noteRun() ? .resolved(.continue) : try proceed(isCancelled)
            }
            resolver.resolve()
            _ = submitting.end()
            return wait
        }
        return .resolved(.end)
    }

    /// Calls the body with one delegate. Returns nil if the next one is to be asked.
    private func put(to listener: Listener) throws -> Deferred<NextStep>? {
        guard let object = listener.recipient(in: registry) else { return nil }
        let delegate = MulticastDelegate<Delegate>.delegate(of: listener, object)
        promised.take()?.receive()
        switch try body(answer.take()!, delegate) {
        case .now(let step): return note(step) == .end ? .resolved(.end) : nil
        case .later(let promise):
            let wait = promise.mapOutcome(
                { [self] outcome -> NextStep in
                    let step = outcome.result
                    if case .failure(DeferredError.abandoned) = step { return .abandoned }
                    if outcome.isReturnable { promised = outcome }
                    return note(try step.get())
                }, fileID: site.fileID, line: site.line)
            if case .success(.continue) = wait.currentResult { return nil }
            return wait
        }
    }

    private func note(_ step: MulticastStep<Answer>) -> NextStep {
        switch step {
        case .next(let result), .stop(let result): answer = result
        }
        if case .stop = step { return .end }
        return .continue
    }
}

/// What a delegate replies: its answer, or a promise of it.
enum Reply<Answer: Sendable>: Sendable {
    case now(Answer)
    case later(Deferred<Answer>)

    func map<U: Sendable>(
        at site: CallSite, _ transform: @escaping @Sendable (Answer) throws -> U
    ) throws -> Reply<U> {
        switch self {
        case .now(let answer): .now(try transform(answer))
        case .later(let promise): .later(promise.map(transform, fileID: site.fileID, line: site.line))
        }
    }

    /// As `map`, for a transform that passes a promised answer on, and does not receive it (V1).
    func mapPassingOn<U: Sendable>(
        at site: CallSite, _ transform: @escaping @Sendable (Answer) -> U
    ) -> Reply<U> {
        switch self {
        case .now(let answer): .now(transform(answer))
        case .later(let promise):
            .later(promise.mapPassingOn(transform, fileID: site.fileID, line: site.line))
        }
    }
}

extension Deferred {
    /// As `mapResult`, for the last step of a question. Its abandonment is reported only if something is attached to
    /// the Deferred that this returns (U1).
    func answer<U: Sendable>(
        at site: CallSite, _ callback: @escaping @Sendable (Result<Value, any Error>) throws -> U
    ) -> Deferred<U> {
        let (answer, resolver) = Deferred<U>.withResolver(fileID: site.fileID, line: site.line)
        let last = mapResult { result in
            if case .failure(DeferredError.abandoned) = result { resolver.disownFailure() }
            return try callback(result)
        }
        resolver.follow(orCancel: last)
        return answer
    }
}
