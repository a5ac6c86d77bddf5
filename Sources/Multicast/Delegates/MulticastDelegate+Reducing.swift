public import Deferred

/// Asking one delegate after the other, each on its own dispatcher.
///
/// Nobody waits for an answer but the Deferred. The delegates are those that were there at the call, in the
/// order added; one that has gone or was removed when its turn comes is passed over. The first error fails
/// the whole, as it is, and nobody else is asked; nor is anybody once it is cancelled, which also cancels the
/// answer that it waits for. If a dispatcher lets go of its work without running it, it fails with
/// `DeferredError.abandoned`. What follows runs where the last delegate answered.
extension MulticastDelegate {
    /// Asks one delegate after the other until one stops it, handing on the result so far.
    ///
    /// ```swift
    /// bidders.reduce(over: 0) { highest, bidder in
    ///     let bid = bidder.bid(over: highest)
    ///     return bid == limit ? .stop(bid) : .next(max(highest, bid))
    /// }
    /// ```
    public func reduce<Answer: Sendable>(
        over initial: Answer,
        _ body: @escaping @Sendable (Answer, Delegate) throws -> MulticastTurn<Answer>,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Answer> {
        reduce(over: initial, { .resolved(try body($0, $1)) }, fileID: fileID, line: line)
    }

    /// Asks one delegate after the other until one stops it, waiting for what each promises.
    @_disfavoredOverload
    public func reduce<Answer: Sendable>(
        over initial: Answer,
        _ body: @escaping @Sendable (Answer, Delegate) throws -> Deferred<MulticastTurn<Answer>>,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Answer> {
        let site = Site(fileID: fileID, line: line)
        return askInTurn(registry.snapshot().compactMap { $0 }[...], initial, body, site)
    }

    /// Asks every delegate, one after the other, each adding to the result.
    ///
    /// ```swift
    /// checks.reduce(into: []) { problems, check in problems += check.problems() }
    /// ```
    public func reduce<Answer: Sendable>(
        into initial: Answer,
        _ body: @escaping @Sendable (inout Answer, Delegate) throws -> Void,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Answer> {
        reduce(
            over: initial,
            { answer, delegate -> MulticastTurn<Answer> in
                var answer = answer
                try body(&answer, delegate)
                return .next(answer)
            },
            fileID: fileID,
            line: line
        )
    }

    /// Whether all delegates say yes: the first no decides, and nobody is asked after it. True if nobody is
    /// there.
    public func all(
        _ body: @escaping @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Bool> {
        all({ .resolved(try body($0)) }, fileID: fileID, line: line)
    }

    /// Whether all delegates say yes, in answers that they promise: the first no decides, and nobody is asked
    /// after it. True if nobody is there.
    ///
    /// ```swift
    /// delegates.all { $0.mayClose() }.then { if $0 { close() } }    // any "no" keeps it open
    /// ```
    @_disfavoredOverload
    public func all(
        _ body: @escaping @Sendable (Delegate) throws -> Deferred<Bool>,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Bool> {
        reduce(
            over: true, { try body($1).then { $0 ? .next(true) : .stop(false) } }, fileID: fileID, line: line)
    }

    /// Whether any delegate says yes: the first yes decides, and nobody is asked after it. False if nobody is
    /// there.
    public func any(
        _ body: @escaping @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Bool> {
        any({ .resolved(try body($0)) }, fileID: fileID, line: line)
    }

    /// Whether any delegate says yes, in answers that they promise: the first yes decides, and nobody is
    /// asked after it. False if nobody is there.
    ///
    /// ```swift
    /// delegates.any { $0.handle(query) }.then { handled in if !handled { reply(.notImplemented) } }
    /// ```
    @_disfavoredOverload
    public func any(
        _ body: @escaping @Sendable (Delegate) throws -> Deferred<Bool>,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Bool> {
        reduce(
            over: false, { try body($1).then { $0 ? .stop(true) : .next(false) } }, fileID: fileID, line: line
        )
    }

    private struct Site: Sendable {
        let fileID: StaticString
        let line: UInt
    }

    /// A loop as long as answers are there at once, so that any number of delegates without a dispatcher
    /// costs no stack; where one has to be waited for, the loop goes on in a callback, whose Deferred the
    /// chain then waits for.
    private func askInTurn<Answer: Sendable>(
        _ registrations: ArraySlice<Registration>,
        _ initial: Answer,
        _ body: @escaping @Sendable (Answer, Delegate) throws -> Deferred<MulticastTurn<Answer>>,
        _ site: Site
    ) -> Deferred<Answer> {
        var answer = initial
        for index in registrations.indices {
            let turn = ask(registrations[index]) { [answer] in try body(answer, $0) }
            let rest = registrations[(index + 1)...]
            switch turn.currentResult {
            case .success(.next(let next)): answer = next
            case .success(.stop(let last)): return .resolved(last, fileID: site.fileID, line: site.line)
            case .success(nil): continue
            case .failure(let error): return .rejected(error, fileID: site.fileID, line: site.line)
            case nil:
                return turn.then(
                    { [answer] turn -> Deferred<Answer> in
                        switch turn {
                        case .next(let next): self.askInTurn(rest, next, body, site)
                        case .stop(let last): .resolved(last)
                        case nil: self.askInTurn(rest, answer, body, site)
                        }
                    },
                    fileID: site.fileID,
                    line: site.line
                )
            }
        }
        return .resolved(answer, fileID: site.fileID, line: site.line)
    }
}
