public import Deferred

/// Questions that are put to one delegate after the other, each on its own dispatcher.
///
/// No thread waits for an answer. The delegates are those of the moment of the call, in the order added; one
/// that has been deallocated or removed before it is asked is skipped. The first error fails the result,
/// unchanged, and no other delegate is asked; nor is any once the result is cancelled, which also cancels the
/// promised answer that it waits for. If a dispatcher releases its work without running it, or is itself
/// released before, the result fails with `DeferredError.abandoned`. What is attached to the result without
/// a dispatcher runs where the last delegate answered; attached after that, it runs at once, as with every
/// Deferred.
extension MulticastDelegate {
    /// Asks one delegate after the other until one ends the question, and passes each the result so far.
    ///
    /// ```swift
    /// bidders.reduce(over: 0) { highest, bidder in
    ///     let bid = bidder.bid(over: highest)
    ///     return bid == limit ? .stop(bid) : .next(max(highest, bid))
    /// }
    /// ```
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates that are asked.
    public func reduce<Answer: Sendable>(
        over initial: Answer, _ body: @escaping @Sendable (Answer, Delegate) throws -> MulticastStep<Answer>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Answer> {
        Question.ask(self, initial, CallSite(fileID: fileID, line: line)) { .now(try body($0, $1)) }
    }

    /// Asks one delegate after the other until one ends the question, and waits for the Deferred that each
    /// returns.
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates that are asked.
    public func reduceDeferred<Answer: Sendable, Step: DeferredConvertible>(
        over initial: Answer, _ body: @escaping @Sendable (Answer, Delegate) throws -> Step,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Answer> where Step.Value == MulticastStep<Answer> {
        Question.ask(self, initial, CallSite(fileID: fileID, line: line)) {
            .later(try body($0, $1).deferred)
        }
    }

    /// Asks every delegate, one after the other, each of which changes the result in place.
    ///
    /// ```swift
    /// checks.reduce(into: []) { problems, check in problems += check.problems() }
    /// ```
    public func reduce<Answer: Sendable>(
        into initial: consuming Answer, _ body: @escaping @Sendable (inout Answer, Delegate) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Answer> {
        Question.ask(self, consume initial, CallSite(fileID: fileID, line: line)) {
            (answer: consuming Answer, delegate) in
            try body(&answer, delegate)
            return .now(.next(answer))
        }
    }
}
