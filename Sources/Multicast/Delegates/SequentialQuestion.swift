import Deferred
import Synchronization

/// What a delegate's answer means for a question that is put to one delegate after the other.
enum QuestionStep<Answer: Sendable>: Sendable {
    /// Asks the next delegate.
    case next
    /// Ends the question.
    case stop
    /// Waits for the answer before it decides.
    case wait(Deferred<MulticastTurn<Answer>>)
}

/// A question that is put to one delegate after the other, each on its dispatcher.
///
/// The thread that runs ``proceed(_:within:)`` owns the question until it submits work to a dispatcher or waits
/// for a promised answer; the work, or the callback, owns it from then on. The result is therefore completed where
/// the last delegate answered, and the next delegate without a dispatcher is called there. A delegate that
/// answers before the submitting call returns makes no difference.
///
/// `proceed` is a loop: delegates without a dispatcher, answers that are there at once and dispatchers that
/// run their work inside `dispatch` cost no stack, whatever their number.
///
/// Soundness of `@unchecked Sendable`: the mutable properties are used by the owner alone. Ownership moves
/// with the work of a dispatcher, with a callback of a Deferred, or with `Submission` or `Arrival`, all of
/// which order what happened before with what happens after.
final class SequentialQuestion<Delegate, Answer: Sendable>: @unchecked Sendable {
    typealias Body = @Sendable (inout Answer, Delegate) throws -> QuestionStep<Answer>

    private let respondents: [Respondent]
    private let body: Body
    private let site: CallSite
    private weak var registry: ListenerRegistry?
    private var position = 0
    /// Nil while `body` changes it, so that a collection is changed in place.
    private var answer: Answer?

    init(
        _ registry: ListenerRegistry, _ initial: consuming Answer, _ site: CallSite, _ body: @escaping Body
    ) {
        respondents = Respondent.all(in: registry)
        self.registry = registry
        answer = consume initial
        self.site = site
        self.body = body
    }

    /// Asks the delegates and returns a Deferred with the result.
    func ask() -> Deferred<Answer> {
        let (deferred, resolver) = Deferred<Answer>.withResolver(fileID: site.fileID, line: site.line)
        proceed(resolver)
        return deferred
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
            guard position < respondents.count else {
                return resolve(resolver)
            }
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
        let step: QuestionStep<Answer>
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
        let arrival = Arrival<MulticastTurn<Answer>>()
        let link = promise.mapResult(
            { result in arrival.arrive(result) ? nil : result }, fileID: site.fileID, line: site.line)
        if let result = arrival.end() { return take(result, resolver) }
        let rest = link.then(
            { [self] result -> Deferred<Answer> in
                let (deferred, resolver) = Deferred<Answer>.withResolver(
                    fileID: site.fileID, line: site.line)
                if let result, take(result, resolver) { proceed(resolver) }
                return deferred
            },
            fileID: site.fileID,
            line: site.line
        )
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

/// A call of `dispatch`, which may run its work before it returns: decides who submits the next work.
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

/// An answer that may arrive while a callback is being attached to it, or later.
private final class Arrival<Answer: Sendable>: Sendable {
    private struct State {
        var isAttaching = true
        var result: Result<Answer, any Error>?
    }

    private let state = LockedState(State())

    /// Called by the callback. True if the attaching call has not returned yet and will take the result.
    func arrive(_ result: Result<Answer, any Error>) -> Bool {
        state.withLock { state in
            if state.isAttaching { state.result = result }
            return state.isAttaching
        }
    }

    /// Called when the callback is attached: the result, if it has arrived.
    func end() -> Result<Answer, any Error>? {
        state.withLock { state in
            state.isAttaching = false
            return state.result.take()
        }
    }
}
