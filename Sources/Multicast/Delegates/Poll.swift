internal import Deferred

/// A question that is put to all delegates at the same time, each on its dispatcher: to those that have one first, so that
/// they work while the others are called.
///
/// Answers that are there when a delegate has been asked are collected in a loop. Where one is not, a ``GrowingList``
/// observes it while further delegates are asked, and knows which came first.
struct Poll<Delegate, Answer: Sendable> {
    typealias Body = @Sendable (Delegate) throws -> Reply<Answer>

    private let delegates: MulticastDelegate<Delegate>
    private let site: CallSite
    private let skipped: Answer
    private let body: Body

    /// - Parameter skipped: The answer of a delegate that has been deallocated or removed.
    init(
        _ delegates: MulticastDelegate<Delegate>, skipped: Answer, _ site: CallSite, _ body: @escaping Body
    ) {
        self.delegates = delegates
        self.site = site
        self.skipped = skipped
        // With the task-local values of this call (X2).
        self.body = DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(body) : body
    }

    /// What is known of an answer when its delegate has been asked.
    private enum Heard {
        case answer(Answer)
        case failure(any Error)
        /// A promise, or what becomes of the call on a dispatcher.
        case promise(Deferred<Answer>)
    }

    private func ask(_ registration: Registration) -> Heard {
        let listener = registration.listener
        guard let object = listener.recipient(in: delegates.registry) else { return .answer(skipped) }
        if let dispatcher = registration.dispatcher { return .promise(submit(listener, to: dispatcher)) }
        do {
            switch try body(MulticastDelegate<Delegate>.delegate(of: listener, object)) {
            case .now(let answer): return .answer(answer)
            case .later(let promise): return .promise(promise)
            }
        } catch {
            return .failure(error)
        }
    }

    /// Has a delegate called on its dispatcher. The work retains neither the delegates nor the dispatcher.
    private func submit(_ listener: Listener, to dispatcher: any Dispatcher) -> Deferred<Answer> {
        Deferred.resolved((), fileID: site.fileID, line: site.line).then(
            on: dispatcher,
            { [body, skipped, site, weak registry = delegates.registry] () -> Deferred<Answer> in
                func settled(_ answer: Answer) -> Deferred<Answer> {
                    .resolved(answer, fileID: site.fileID, line: site.line)
                }
                guard let object = listener.recipient(in: registry) else { return settled(skipped) }
                switch try body(MulticastDelegate<Delegate>.delegate(of: listener, object)) {
                case .now(let answer): return settled(answer)
                case .later(let promise): return promise
                }
            }, fileID: site.fileID, line: site.line)
    }

    /// Returns a failure as the result. An abandonment is reported only if something is attached to that (U1).
    private func failed<Result>(_ error: any Error) -> Deferred<Result> {
        let result = Deferred<Result>.rejected(error, fileID: site.fileID, line: site.line)
        if error as? DeferredError == .abandoned { result.disownFailure() }
        return result
    }
}

extension Poll {
    /// Asks until a delegate makes a choice and stops the question, and returns a Deferred with the choice, or with
    /// `none` if no delegate makes one. The first choice or error to arrive is the result.
    func choice<Choice>(or none: Choice) -> Deferred<Choice> where Answer == MulticastStep<Choice> {
        let registrations = delegates.registrations
        var pending: GrowingList<Answer, Answer?>?
        asking: for isDispatched in [true, false] {
            for registration in registrations where registration.isDispatched == isDispatched {
                let heard = ask(registration)
                // While this delegate was called, another may have decided the question.
                if let pending, pending.isDecided { break asking }
                switch heard {
                case .answer(.next): break
                case .promise(let promise):
                    let list = pending ?? .first(fileID: site.fileID, line: site.line, where: \.isLast)
                    pending = list
                    list.add(promise)
                    if list.isDecided { break asking }
                case .answer(.stop(let choice)):
                    pending?.leave()
                    return .resolved(choice, fileID: site.fileID, line: site.line)
                case .failure(let error):
                    pending?.leave()
                    return failed(error)
                }
            }
        }
        guard let pending else { return .resolved(none, fileID: site.fileID, line: site.line) }
        pending.close()
        return pending.deferred
            .map({ $0?.result ?? none }, fileID: site.fileID, line: site.line).answer(at: site)
    }

    /// Asks all, and returns their answers in the order added, without those that are nil. The first error to arrive fails
    /// the result; further ones are reported.
    func answers<Element>() -> Deferred<[Element]> where Answer == Element? {
        let registrations = delegates.registrations
        var present = [Answer](repeating: nil, count: registrations.count)
        var pending: GrowingList<Answer, [Answer]>?
        /// The places of those that `pending` waits for.
        var places: [Int] = []
        var failure: (any Error)?
        for isDispatched in [true, false] {
            for (place, registration) in registrations.enumerated()
            where registration.isDispatched == isDispatched {
                switch ask(registration) {
                case .answer(let answer): present[place] = answer
                case .failure(let error):
                    if failure == nil, pending?.isDecided != true {
                        failure = error
                    } else {
                        // Reported when it is released (U1).
                        _ = failed(error) as Deferred<Void>
                    }
                case .promise(let promise):
                    let list = pending ?? .values(fileID: site.fileID, line: site.line)
                    pending = list
                    places.append(place)
                    list.add(promise)
                }
            }
        }
        guard let pending else {
            if let failure { return failed(failure) }
            return .resolved(present.compactMap(\.self), fileID: site.fileID, line: site.line)
        }
        pending.close()
        let result = pending.deferred
            .map(
                { [present, places] answers -> [Element] in
                    var all = present
                    for (place, answer) in zip(places, answers) { all[place] = answer }
                    return all.compactMap(\.self)
                }, fileID: site.fileID, line: site.line
            ).answer(at: site)
        // What `pending` fails with is then a further error.
        return failure.map { failed($0) } ?? result
    }
}
