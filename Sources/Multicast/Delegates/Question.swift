internal import Deferred
import Synchronization

/// A question that is put to one delegate after the other, each on its dispatcher. Put to all at the same time, it is a
/// question for each: ``each(of:_:_:_:_:)``.
///
/// The thread that runs ``proceed(_:within:)`` owns the question until it submits work to a dispatcher or waits
/// for a promised answer; the work, or the callback, owns it from then on. The result is therefore completed where
/// the last delegate answered, and the next delegate without a dispatcher is called there. A delegate that
/// answers before the submitting call returns makes no difference.
///
/// `proceed` is a loop: delegates without a dispatcher, answers that are there at once and dispatchers that
/// run their work inside `dispatch` cost no stack, whatever their number.
///
/// Sound as `@unchecked Sendable`: the mutable properties are used by the owner alone. Ownership moves
/// with the work of a dispatcher, with a callback of a Deferred, or with `Submission`, all of
/// which order what happened before with what happens after.
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
    /// A promised answer that was there before the callback was attached.
    private var arrived: Result<MulticastTurn<Answer>, any Error>?

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

    /// Asks until a delegate has to be waited for. `submission` is the dispatcher call that this runs inside
    /// of, if any: it submits the next work itself, so that dispatchers that run their work at once do not
    /// nest.
    private func proceed(_ resolver: Resolver<Answer>, within submission: Submission? = nil) {
        // Whether the work that was submitted has passed the question back, for the delegate at `position`. The
        // question is then submitted to that delegate's dispatcher even if the delegate has been deallocated since,
        // and continues there: this thread must not call the next delegate or settle the result (M1).
        var isPassed = false
        while !resolver.isCancelled {
            guard position < respondents.count else { return resolve(resolver) }
            let respondent = respondents[position]
            guard isPassed || respondent.listener.recipient(in: registry) != nil else {
                position += 1
                continue
            }
            guard let dispatcher = respondent.dispatcher else {
                position += 1
                if put(to: respondent.listener, resolver) { continue } else { return }
            }
            if let submission, submission.passToSubmitter() { return }
            position += 1
            let inner = Submission()
            dispatcher.submit { [self, listener = respondent.listener] in
                guard inner.begin() else { return }
                if put(to: listener, resolver) { proceed(resolver, within: inner) }
            }
            guard inner.end() else { return }
            isPassed = true
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

    /// Attaches to a promised answer; true if that was there before this returns, and the next delegate is to
    /// be asked.
    private func wait(for promise: Deferred<MulticastTurn<Answer>>, _ resolver: Resolver<Answer>) -> Bool {
        let attaching = AttachingCall()
        let link = promise.mapResult(
            { [self] result -> Result<MulticastTurn<Answer>, any Error>? in
                guard attaching.noteRun() else { return result }
                arrived = result
                return nil
            }, fileID: site.fileID, line: site.line)
        if attaching.end(), let result = arrived.take() { return take(result, resolver) }
        let rest = link.then(
            { [self] result -> Deferred<Answer> in
                let (deferred, resolver) = Deferred<Answer>.withResolver(
                    fileID: site.fileID, line: site.line)
                if let result, take(result, resolver) { proceed(resolver) }
                return deferred
            }, fileID: site.fileID, line: site.line)
        resolver.follow(rest)
        if resolver.isCancelled { rest.cancel() }
        return false
    }

    /// Takes a promised answer; true if the next delegate is to be asked.
    private func take(
        _ result: Result<MulticastTurn<Answer>, any Error>, _ resolver: Resolver<Answer>
    ) -> Bool {
        switch result {
        case .success(.next(let next)):
            answer = next
            return true
        case .success(.stop(let last)):
            answer = last
            resolve(resolver)
        case .failure(let error):
            resolver.reject(error, fileID: site.fileID, line: site.line)
        }
        return false
    }

    private func resolve(_ resolver: Resolver<Answer>) {
        resolver.resolve(answer.take()!, fileID: site.fileID, line: site.line)
    }
}

/// A call of `dispatch`, whose work may run before it returns, on this thread or another: decides who submits the
/// next work. (An `AttachingCall` does not do: a dispatcher that waits for its work on another thread would wait for
/// itself.)
private final class Submission: Sendable {
    private let state = Atomic<UInt8>(submitting)
    private let hasBegun = Atomic(false)

    private static var submitting: UInt8 { 0 }
    private static var passed: UInt8 { 1 }
    private static var ended: UInt8 { 2 }

    /// True for the first call: a dispatcher that runs its work twice asks once.
    func begin() -> Bool {
        !hasBegun.exchange(true, ordering: .acquiringAndReleasing)
    }

    /// Called by the work. True if the submitting call has not returned yet and will go on.
    func passToSubmitter() -> Bool {
        state.compareExchange(
            expected: Self.submitting, desired: Self.passed, ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Called by the submitter when `dispatch` has returned. True if the work has passed the question to it.
    func end() -> Bool {
        state.exchange(Self.ended, ordering: .acquiringAndReleasing) == Self.passed
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
