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
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> {
        Ballot(self, order, fileID, line).decide(by: false, body, Vote.cast)
    }

    /// Returns whether all delegates say yes, and waits for the Deferreds that they return: the first no
    /// decides. True without delegates.
    public func all<Answer: DeferredConvertible>(
        asking order: AskingOrder = .sequentially,
        _ body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> where Answer.Value == Bool {
        Ballot(self, order, fileID, line).decide(by: false, body, Vote.promise)
    }

    /// Returns whether any delegate says yes: the first yes decides. False without delegates.
    ///
    /// ```swift
    /// delegates.any { $0.handle(query) }.done { isHandled in if !isHandled { reply(.notImplemented) } }
    /// ```
    ///
    /// An answer that throws is the failure, and ends the question. Asked `.concurrently`, that is so unless a yes
    /// arrived before it: no answer is waited for after an error.
    public func any(
        asking order: AskingOrder = .sequentially,
        _ body: @escaping @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> {
        Ballot(self, order, fileID, line).decide(by: true, body, Vote.cast)
    }

    /// Returns whether any delegate says yes, and waits for the Deferreds that they return: the first yes
    /// decides. False without delegates.
    public func any<Answer: DeferredConvertible>(
        asking order: AskingOrder = .sequentially,
        _ body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> where Answer.Value == Bool {
        Ballot(self, order, fileID, line).decide(by: true, body, Vote.promise)
    }
}

/// Questions whose result is the delegate that answered.
extension MulticastDelegate where Delegate: Sendable {
    /// Returns the delegate that said yes first, or nil if none did.
    ///
    /// ```swift
    /// plugins.first { $0.canOpen(file) }.done { plugin in plugin?.open(file) }
    /// plugins.first { !$0.mayClose() }.done { if let objector = $0 { show(objector.name) } }
    /// ```
    ///
    /// Asks as ``any(asking:_:fileID:line:)`` does: an answer that throws before a delegate said yes is the failure.
    /// The result retains the delegate.
    public func first(
        asking order: AskingOrder = .sequentially,
        where body: @escaping @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Delegate?> {
        Ballot(self, order, fileID, line).find(body, Vote.cast)
    }

    /// Returns the delegate whose Deferred said yes first, or nil if none did.
    ///
    /// Asks as ``any(asking:_:fileID:line:)`` does. The result retains the delegate.
    public func first<Answer: DeferredConvertible>(
        asking order: AskingOrder = .sequentially,
        where body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Delegate?> where Answer.Value == Bool {
        Ballot(self, order, fileID, line).find(body, Vote.promise)
    }
}

/// An answer with yes or no.
enum Vote: Sendable {
    case cast(Bool)
    case promised(Deferred<Bool>)

    @Sendable
    static func promise<Answer: DeferredConvertible>(_ answer: Answer) -> Vote where Answer.Value == Bool {
        .promised(answer.deferred)
    }
}

/// A question that ends with the first answer that decides, and how it is put.
struct Ballot<Delegate> {
    let registry: ListenerRegistry
    let order: AskingOrder
    /// Where all delegates are asked; nil for each on its own dispatcher.
    let place: (any Dispatcher)?
    let site: CallSite

    init(
        _ delegates: MulticastDelegate<Delegate>, _ order: AskingOrder, on place: (any Dispatcher)? = nil,
        _ fileID: StaticString, _ line: UInt
    ) {
        registry = delegates.registry
        self.order = order
        self.place = place
        site = CallSite(fileID: fileID, line: line)
    }

    /// Returns `decisive` if a delegate votes so, and the opposite if none does.
    func decide<Answer>(
        by decisive: Bool, _ body: @escaping @Sendable (Delegate) throws -> Answer,
        _ vote: @escaping @Sendable (Answer) -> Vote
    ) -> Deferred<Bool> {
        put(body, vote) { _ in { $0 == decisive ? decisive : nil } }.map(at: site) { $0 ?? !decisive }
    }

    /// Returns the delegate that says yes; nil if none does.
    func find<Answer>(
        _ body: @escaping @Sendable (Delegate) throws -> Answer,
        _ vote: @escaping @Sendable (Answer) -> Vote
    ) -> Deferred<Delegate?> where Delegate: Sendable {
        put(body, vote) { delegate in { $0 ? delegate : nil } }
    }

    /// Asks until a vote is a choice, which is the result; nil if none is.
    private func put<Answer, Choice: Sendable>(
        _ body: @escaping @Sendable (Delegate) throws -> Answer,
        _ vote: @escaping @Sendable (Answer) -> Vote,
        _ choice: @escaping @Sendable (Delegate) -> @Sendable (Bool) -> Choice?
    ) -> Deferred<Choice?> {
        let question: Question<Delegate, Choice?>.Body = { [site] answer, delegate in
            let choice = choice(delegate)
            switch vote(try body(delegate)) {
            case .cast(let isYes):
                answer = choice(isYes)
                return answer == nil ? .next : .stop
            case .promised(let promise):
                return .wait(promise.map(at: site) { isYes in choice(isYes).map { .stop($0) } ?? .next(nil) })
            }
        }
        return switch order {
        case .sequentially: Question<Delegate, Choice?>.ask(registry, on: place, nil, site, question)
        case .concurrently: race(question)
        }
    }

    /// Asks all; the first choice or error is the result. In the list, what decides is a value and what does
    /// not is an error, so that `first()` finds it, cancels the others, and fails when nothing decided.
    private func race<Choice: Sendable>(
        _ body: @escaping Question<Delegate, Choice?>.Body
    ) -> Deferred<Choice?> {
        let (answers, ask) = Question<Delegate, Choice?>.each(of: registry, on: place, nil, site, body)
        guard !answers.isEmpty else { return .resolved(nil, fileID: site.fileID, line: site.line) }
        let choices = answers.map { answer in
            answer.mapResult(
                { result -> Result<Choice, any Error> in
                    if case .success(nil) = result { throw Undecided() }
                    return result.map { $0! }
                }, fileID: site.fileID, line: site.line)
        }
        let first = DeferredList(choices, consumeErrors: true, cancelsRemaining: true)
            .first(fileID: site.fileID, line: site.line)
        // `Undecided` is for the steps below alone: if they are cancelled at the moment when it arrives, nothing
        // handles it.
        for choice in choices { choice.disownFailure() }
        first.disownFailure()
        let result = first.mapResult(
            { first -> Choice? in
                do { return try first.get().value.get() } catch is Undecided { return nil }
            }, fileID: site.fileID, line: site.line)
        ask()
        return result
    }
}

private struct Undecided: Error {}

extension Deferred {
    /// As `map`, with the location of a caller for diagnostics.
    func map<U: Sendable>(
        at site: CallSite, _ callback: @escaping @Sendable (Value) throws -> U
    ) -> Deferred<U> {
        map(callback, fileID: site.fileID, line: site.line)
    }
}
