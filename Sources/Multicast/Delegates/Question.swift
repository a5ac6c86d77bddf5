internal import Deferred

/// A question that is put to one delegate after the other, each on its dispatcher. Put to all at the same time, it is a
/// question for each: ``each(of:_:_:_:_:)``.
///
/// The thread that runs ``proceed(_:)`` owns the question until it submits work to a dispatcher or waits
/// for a promised answer; the work, or the callback, owns it from then on. The result is therefore completed where
/// the last delegate answered, and the next delegate without a dispatcher is called there. A delegate that
/// answers before the submitting call returns makes no difference.
///
/// `proceed` is a loop: delegates without a dispatcher, answers that are there at once and dispatchers that
/// run their work inside `dispatch` cost no stack, whatever their number.
///
/// Sound as `@unchecked Sendable`: the mutable properties are used by the owner alone. Ownership moves
/// with the work of a dispatcher or with a callback of a Deferred, which order what happened before with what
/// happens after.
final class Question<Delegate, Answer: Sendable>: @unchecked Sendable {
    /// What a delegate's answer means.
    enum Step: Sendable {
        /// Asks the next delegate.
        case next
        /// Ends the question.
        case stop
        /// Waits for the answer before it decides.
        case wait(Deferred<MulticastTurn<Answer>>)
    }
    typealias Body = @Sendable (inout Answer, Delegate) throws -> Step

    /// The location of the call that asks, for diagnostics.
    private let site: CallSite
    private let respondents: [Respondent]
    private let body: Body
    private weak var registry: ListenerRegistry?
    private var position = 0
    /// Nil while `body` changes it, so that a collection is changed in place.
    private var answer: Answer?

    private init(
        _ registry: ListenerRegistry?, _ respondents: [Respondent], _ initial: consuming Answer,
        _ site: CallSite, _ body: @escaping Body
    ) {
        self.respondents = respondents
        self.registry = registry
        answer = consume initial
        self.site = site
        self.body = body
    }

    /// Asks the delegates of a registry, all on `place` if there is one, and returns a Deferred with the result.
    static func ask(
        _ registry: ListenerRegistry, on place: (any Dispatcher)?, _ initial: consuming Answer,
        _ site: CallSite, _ body: @escaping Body
    ) -> Deferred<Answer> {
        let question = Question(
            registry, Respondent.all(in: registry, on: place, sharing: true), consume initial, site, body)
        let (deferred, resolver) = Deferred<Answer>.withResolver(fileID: site.fileID, line: site.line)
        question.proceed(resolver)
        return deferred
    }

    /// Returns a Deferred with the answer of each delegate, and a closure that asks them: submits the question to
    /// those with a dispatcher, then calls the others. What is attached before that runs where the answers arrive.
    /// The answer of one that has been deallocated or removed is `initial`.
    static func each(
        of registry: ListenerRegistry, on place: (any Dispatcher)?, _ initial: Answer, _ site: CallSite,
        _ body: @escaping Body
    ) -> (answers: [Deferred<Answer>], ask: () -> Void) {
        let respondents = Respondent.all(in: registry, on: place, sharing: false)
        let promises = respondents.map { _ in
            Deferred<Answer>.withResolver(fileID: site.fileID, line: site.line)
        }
        let resolvers = promises.map(\.resolver)
        func ask(_ isMeant: (Respondent) -> Bool) {
            for (respondent, resolver) in zip(respondents, resolvers) where isMeant(respondent) {
                Question(registry, [respondent], initial, site, body).proceed(resolver)
            }
        }
        return (
            promises.map(\.deferred),
            {
                ask { $0.dispatcher != nil }
                ask { $0.dispatcher == nil }
            }
        )
    }

    /// Asks until a delegate has to be waited for.
    private func proceed(_ resolver: Resolver<Answer>) {
        while !resolver.isCancelled {
            guard position < respondents.count else { return resolve(resolver) }
            let (listener, dispatcher) = (respondents[position].listener, respondents[position].dispatcher)
            position += 1
            guard listener.recipient(in: registry) != nil else { continue }
            guard let dispatcher else {
                if put(to: listener, resolver) { continue } else { return }
            }
            let submitting = AttachingCall()
            dispatcher.submit { [self] in
                guard put(to: listener, resolver) else { return }
                if submitting.noteRun() { return }
                proceed(resolver)
            }
            // Otherwise the work owns the question, and may run by now.
            guard submitting.end() else { return }
        }
    }

    /// Calls the body with one delegate; false if the question is decided or waits.
    private func put(to listener: Listener, _ resolver: Resolver<Answer>) -> Bool {
        guard !resolver.isCancelled else { return false }
        guard let object = listener.recipient(in: registry) else { return true }
        let step: Step
        do {
            var current = answer.take()!
            step = try body(&current, MulticastDelegate<Delegate>.delegate(of: listener, object))
            answer = current
        } catch {
            resolver.reject(error, fileID: site.fileID, line: site.line)
            return false
        }
        switch step {
        case .next: return true
        case .stop:
            resolve(resolver)
            return false
        case .wait(let promise): return wait(for: promise, resolver)
        }
    }

    /// Waits for a promised answer. Returns true if that was there before this returns, and the next delegate is to be
    /// asked.
    private func wait(for promise: Deferred<MulticastTurn<Answer>>, _ resolver: Resolver<Answer>) -> Bool {
        let attaching = AttachingCall()
        let rest = promise.then(
            { [self] turn -> Deferred<Answer> in
                switch turn {
                case .stop(let last): return .resolved(last)
                case .next(let next): answer = next
                }
                // The call below asks the next delegate, and nothing receives this.
                if attaching.noteRun() { return .rejected(CancellationError()) }
                let (deferred, resolver) = Deferred<Answer>.withResolver(
                    fileID: site.fileID, line: site.line)
                proceed(resolver)
                return deferred
            }, fileID: site.fileID, line: site.line)
        if attaching.end() { return true }
        resolver.follow(orCancel: rest)
        return false
    }

    private func resolve(_ resolver: Resolver<Answer>) {
        resolver.resolve(answer.take()!, fileID: site.fileID, line: site.line)
    }
}

/// A delegate that a question is put to: its listener, and the dispatcher that it is called on.
struct Respondent: Sendable {
    let listener: Listener
    /// Nil for a delegate that is called at once.
    let dispatcher: DispatcherReference?

    /// The delegates of a registry, in the order added; all on `place`, if there is one. Those with one dispatcher
    /// share a reference if they are asked by one question, and have one each otherwise.
    static func all(
        in registry: ListenerRegistry, on place: (any Dispatcher)?, sharing isShared: Bool
    ) -> [Respondent] {
        var references: [ObjectIdentifier: DispatcherReference] = [:]
        return registry.snapshot().compactMap { registration in
            guard let registration else { return nil }
            guard let dispatcher = place ?? registration.dispatcher else {
                return Respondent(listener: registration.listener, dispatcher: nil)
            }
            let isObject = isShared && type(of: dispatcher) is AnyClass
            let identity = isObject ? ObjectIdentifier(dispatcher as AnyObject) : nil
            let reference = identity.flatMap { references[$0] } ?? DispatcherReference(dispatcher)
            if let identity { references[identity] = reference }
            return Respondent(listener: registration.listener, dispatcher: reference)
        }
    }
}
