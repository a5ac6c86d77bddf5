public import Deferred

/// How a question is put to several delegates.
///
/// ```swift
/// delegates.all(asking: .concurrently) { $0.mayClose() }.done { if $0 { close() } }
/// ```
public enum AskingOrder: Sendable {
    /// One after the other, in the order added: each is asked when the one before it has answered.
    case sequentially
    /// All at the same time, each on its dispatcher.
    case concurrently
}

/// Questions with yes or no for an answer.
///
/// Asked `.sequentially`, they follow the rules of ``MulticastDelegate/reduce(over:_:fileID:line:)``. Asked
/// `.concurrently`, all delegates are asked at the same time, and the first answer to arrive that decides, or
/// the first error, is the result; calls that have not begun are then not made, promised answers are
/// cancelled, and further errors are ignored.
extension MulticastDelegate {
    /// Returns whether all delegates say yes: the first no decides. True without delegates.
    ///
    /// ```swift
    /// delegates.all { $0.mayClose() }.done { if $0 { close() } }    // any no keeps it open
    /// ```
    public func all(
        asking order: AskingOrder = .sequentially,
        _ body: @escaping @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Bool> {
        decide(order, by: false, body, CallSite(fileID: fileID, line: line))
    }

    /// Returns whether all delegates say yes, and waits for the Deferreds that they return: the first no
    /// decides. True without delegates.
    public func all<Answer: DeferredConvertible>(
        asking order: AskingOrder = .sequentially,
        _ body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Bool> where Answer.Value == Bool {
        decidePromised(order, by: false, body, CallSite(fileID: fileID, line: line))
    }

    /// Returns whether any delegate says yes: the first yes decides. False without delegates.
    ///
    /// ```swift
    /// delegates.any { $0.handle(query) }.done { isHandled in if !isHandled { reply(.notImplemented) } }
    /// ```
    ///
    /// An answer that throws is the failure, and ends the question. Asked `.concurrently`, that is so unless a yes arrived
    /// before it: no answer is waited for after an error.
    public func any(
        asking order: AskingOrder = .sequentially,
        _ body: @escaping @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Bool> {
        decide(order, by: true, body, CallSite(fileID: fileID, line: line))
    }

    /// Returns whether any delegate says yes, and waits for the Deferreds that they return: the first yes
    /// decides. False without delegates.
    public func any<Answer: DeferredConvertible>(
        asking order: AskingOrder = .sequentially,
        _ body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Bool> where Answer.Value == Bool {
        decidePromised(order, by: true, body, CallSite(fileID: fileID, line: line))
    }

    /// Asks until an answer is `decisive`, which is then the result.
    private func decide(
        _ order: AskingOrder, by decisive: Bool, _ body: @escaping @Sendable (Delegate) throws -> Bool,
        _ site: CallSite
    ) -> Deferred<Bool> {
        vote(order, !decisive, site) { try body($0) == decisive ? .stop(decisive) : .next(!decisive) }
    }

    /// As `decide`, with answers that may come later.
    private func decidePromised<Answer: DeferredConvertible>(
        _ order: AskingOrder, by decisive: Bool, _ body: @escaping @Sendable (Delegate) throws -> Answer,
        _ site: CallSite
    ) -> Deferred<Bool> where Answer.Value == Bool {
        promisedVote(order, !decisive, site) {
            try body($0).deferred.map(
                { $0 == decisive ? .stop(decisive) : .next(!decisive) }, fileID: site.fileID, line: site.line)
        }
    }

    /// Asks until an answer is `.stop`; `otherwise` is the result if none is.
    func vote<Answer: Sendable>(
        _ order: AskingOrder, _ otherwise: Answer, _ site: CallSite,
        _ body: @escaping @Sendable (Delegate) throws -> MulticastTurn<Answer>
    ) -> Deferred<Answer> {
        switch order {
        case .sequentially:
            reduce(over: otherwise, { try body($1) }, fileID: site.fileID, line: site.line)
        case .concurrently:
            concurrentVote(otherwise, site) { delegate, resolver in
                resolver.resolve(try body(delegate), fileID: site.fileID, line: site.line)
            }
        }
    }

    /// Asks until a promised answer is `.stop`; `otherwise` is the result if none is.
    func promisedVote<Answer: Sendable>(
        _ order: AskingOrder, _ otherwise: Answer, _ site: CallSite,
        _ body: @escaping @Sendable (Delegate) throws -> Deferred<MulticastTurn<Answer>>
    ) -> Deferred<Answer> {
        switch order {
        case .sequentially:
            reduceDeferred(over: otherwise, { try body($1) }, fileID: site.fileID, line: site.line)
        case .concurrently:
            concurrentVote(otherwise, site) { delegate, resolver in
                resolver.take(try body(delegate), site)
            }
        }
    }

    /// Asks all; the first `.stop` or error is the result. In the list, what decides is a value and what does
    /// not is an error, so that `first()` finds it, cancels the others, and fails when nothing decided.
    private func concurrentVote<Answer: Sendable>(
        _ otherwise: Answer, _ site: CallSite,
        _ body: @escaping @Sendable (Delegate, Resolver<MulticastTurn<Answer>?>) throws -> Void
    ) -> Deferred<Answer> {
        let poll = Poll<Delegate, MulticastTurn<Answer>>(registry, site)
        let ballots = poll.answers.map { answer in
            answer.mapResult(
                { result -> Result<Answer, any Error> in
                    switch result {
                    case .success(.stop(let last)?): return .success(last)
                    case .success: throw Undecided()
                    case .failure(let error): return .failure(error)
                    }
                },
                fileID: site.fileID,
                line: site.line
            )
        }
        guard !ballots.isEmpty else { return .resolved(otherwise, fileID: site.fileID, line: site.line) }
        let first = DeferredList(ballots, consumeErrors: true, cancelsRemaining: true)
            .first(fileID: site.fileID, line: site.line)
        // `Undecided` is for the steps below alone: if they are cancelled at the moment when it arrives, nothing
        // handles it.
        for ballot in ballots { ballot.disownFailure() }
        first.disownFailure()
        let result =
            first.mapResult(
                { first in
                    do {
                        return try first.get().value.get()
                    } catch is Undecided {
                        return otherwise
                    }
                },
                fileID: site.fileID,
                line: site.line
            )
        poll.ask(body)
        return result
    }
}

private struct Undecided: Error {}
