/// Firing by hand: for a Deferred from `init()` or `init(canceller:)`. Any other gives back false, and the
/// attempt is reported as ``DeferredDiagnostic/notFireable(made:at:)``.
extension Deferred {
    /// Fires the Deferred with a value; true if this call fired it.
    ///
    /// Callbacks run before this returns, on this thread, unless they name a dispatcher or the Deferred is
    /// paused. If it had fired, nothing changes, and that is reported as
    /// ``DeferredDiagnostic/alreadyFired(made:firedFirst:again:)``; except for the first result that comes
    /// after a cancel, which is dropped without a word.
    @discardableResult
    @inlinable
    public func resolve(_ value: Value, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
        fire(.value(value), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Fires the Deferred with an error; otherwise as ``resolve(_:fileID:line:)``.
    @discardableResult
    @inlinable
    public func reject(_ error: any Error, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
        fire(.failure(error), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Fires the Deferred with a result; otherwise as ``resolve(_:fileID:line:)``.
    @discardableResult
    @inlinable
    public func complete(
        with result: Result<Value, any Error>, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        fire(.init(result), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Fires this Deferred as `other` fires; firing it by hand first wins. See ``Resolver/follow(_:)``.
    @inlinable
    public func follow(_ other: Deferred<Value>, fileID: StaticString = #fileID, line: UInt = #line) {
        guard link.isFiredByHandles else {
            return link.reportNotFireable(DeferredDiagnostic.Location(fileID: fileID, line: line))
        }
        link.follow(other.link)
    }

    /// Fires the Deferred of `other` as this one fires (Twisted's `chainDeferred`, HLDeferred's `notify:`).
    ///
    /// As `other.follow(self)`: the other's cancel reaches this one by the rule of consumers. To go on with
    /// the chain while it is waited for elsewhere, attach to this same handle.
    @inlinable
    public func chain(to other: Resolver<Value>) {
        other.follow(self)
    }

    @inlinable
    func fire(_ outcome: consuming Link.Content, _ site: DeferredDiagnostic.Location) -> Bool {
        if link.isFiredByHandles { return link.fire(outcome, site) }
        link.reportNotFireable(site)
        return false
    }
}

extension Deferred where Value == Void {
    /// Fires the Deferred; as ``resolve(_:fileID:line:)``.
    @discardableResult
    @inlinable
    public func resolve(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
        resolve((), fileID: fileID, line: line)
    }
}
