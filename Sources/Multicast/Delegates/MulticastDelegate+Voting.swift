public import Deferred

/// How a question is put to several delegates.
///
/// ```swift
/// delegates.all(asking: .concurrently) { $0.mayClose() }.done { if $0 { close() } }
/// ```
public enum MulticastOrder: Sendable {
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
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates that are asked.
    public func all(
        asking order: MulticastOrder = .sequentially, _ body: @escaping @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> {
        decide(by: false, order, CallSite(fileID: fileID, line: line)) { .now(try body($0)) }
    }

    /// Returns whether all delegates say yes, and waits for the Deferreds that they return: the first no
    /// decides. True without delegates.
    public func all<Answer: DeferredConvertible>(
        asking order: MulticastOrder = .sequentially, _ body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> where Answer.Value == Bool {
        decide(by: false, order, CallSite(fileID: fileID, line: line)) { .later(try body($0).deferred) }
    }

    /// Returns whether any delegate says yes: the first yes decides. False without delegates.
    ///
    /// ```swift
    /// delegates.any { $0.handle(query) }.done { isHandled in if !isHandled { reply(.notImplemented) } }
    /// ```
    ///
    /// An answer that throws is the failure, and ends the question. Asked `.concurrently`, that is so unless a yes
    /// arrived before it: no answer is waited for after an error.
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates that are asked.
    public func any(
        asking order: MulticastOrder = .sequentially, _ body: @escaping @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> {
        decide(by: true, order, CallSite(fileID: fileID, line: line)) { .now(try body($0)) }
    }

    /// Returns whether any delegate says yes, and waits for the Deferreds that they return: the first yes
    /// decides. False without delegates.
    public func any<Answer: DeferredConvertible>(
        asking order: MulticastOrder = .sequentially, _ body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> where Answer.Value == Bool {
        decide(by: true, order, CallSite(fileID: fileID, line: line)) { .later(try body($0).deferred) }
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
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates that are asked.
    public func first(
        asking order: MulticastOrder = .sequentially,
        where body: @escaping @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Delegate?> {
        find(order, CallSite(fileID: fileID, line: line)) { .now(try body($0)) }
    }

    /// Returns the delegate whose Deferred said yes first, or nil if none did.
    ///
    /// Asks as ``any(asking:_:fileID:line:)`` does. The result retains the delegate.
    public func first<Answer: DeferredConvertible>(
        asking order: MulticastOrder = .sequentially,
        where body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Delegate?> where Answer.Value == Bool {
        find(order, CallSite(fileID: fileID, line: line)) { .later(try body($0).deferred) }
    }

    private func find(
        _ order: MulticastOrder, _ site: CallSite,
        _ vote: @escaping @Sendable (Delegate) throws -> Reply<Bool>
    ) -> Deferred<Delegate?> {
        choose(order, site, or: nil) { _, delegate in
            try vote(delegate).map(at: site) { $0 ? .stop(delegate) : .next(nil) }
        }
    }
}

extension MulticastDelegate {
    /// Returns `decisive` if a delegate votes so, and the opposite if none does.
    private func decide(
        by decisive: Bool, _ order: MulticastOrder, _ site: CallSite,
        _ vote: @escaping @Sendable (Delegate) throws -> Reply<Bool>
    ) -> Deferred<Bool> {
        choose(order, site, or: !decisive) { _, delegate in
            try vote(delegate).map(at: site) { $0 == decisive ? .stop(decisive) : .next(!decisive) }
        }
    }

    /// Asks until a delegate makes a choice and stops the question, and returns a Deferred with the choice, or with
    /// `none` if no delegate makes one.
    private func choose<Choice: Sendable>(
        _ order: MulticastOrder, _ site: CallSite, or none: Choice,
        _ body: @escaping Question<Delegate, Choice>.Body
    ) -> Deferred<Choice> {
        switch order {
        case .sequentially: Question.ask(self, none, site, body)
        case .concurrently:
            Poll(self, skipped: .next(none), site) { try body(none, $0) }.choice(or: none)
        }
    }
}
