public import Deferred

/// Questions whose result is the delegate that answered.
extension MulticastDelegate where Delegate: Sendable {
    /// Returns the delegate that said yes first, or nil if none did.
    ///
    /// ```swift
    /// plugins.first { $0.canOpen(file) }.done { plugin in plugin?.open(file) }
    /// plugins.first { !$0.mayClose() }.done { if let objector = $0 { show(objector.name) } }
    /// ```
    ///
    /// Asks as ``any(asking:_:fileID:line:)`` does: an answer that throws before a delegate said yes is the failure. The
    /// result retains the delegate.
    public func first(
        asking order: AskingOrder = .sequentially,
        where body: @escaping @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Delegate?> {
        let site = CallSite(fileID: fileID, line: line)
        return vote(order, nil, site) { try body($0) ? .stop($0) : .next(nil) }
    }

    /// Returns the delegate whose Deferred said yes first, or nil if none did.
    ///
    /// Asks as ``any(asking:_:fileID:line:)`` does. The result retains the delegate.
    public func first<Answer: DeferredConvertible>(
        asking order: AskingOrder = .sequentially,
        where body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Delegate?> where Answer.Value == Bool {
        let site = CallSite(fileID: fileID, line: line)
        return promisedVote(order, nil, site) { delegate in
            try body(delegate).deferred.map(
                { $0 ? .stop(delegate) : .next(nil) }, fileID: fileID, line: line)
        }
    }
}
