/// Explicit completion, of a Deferred from `init()` or `init(canceller:)`. On any other Deferred these functions
/// return false, and the attempt is reported as ``DeferredDiagnostic/notCompletable(made:at:)``.
extension Deferred {
    /// Completes the Deferred with a value, and returns whether this call completed it.
    ///
    /// Callbacks run before this returns, on this thread, unless they name a dispatcher or the Deferred is paused.
    /// If the Deferred was settled before, nothing changes, and the call is reported as
    /// ``DeferredDiagnostic/alreadySettled(made:settledFirst:again:)``. The first result that arrives after a
    /// cancellation is dropped without a report.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - onUndelivered: Receives the value back if nobody receives it, once, on the thread that releases the last
    ///     reference to it: also if this call did not complete the Deferred. A value is received by a callback, an
    ///     `await`, `wait()`, `currentResult`, or a list that is decided with it; not by what passes it on. See
    ///     <doc:UndeliveredValues>.
    /// - Complexity: O(*n*), where *n* is the number of consumers that are notified, with what follows from
    ///   them.
    @discardableResult
    @inlinable
    public func resolve(
        _ value: Value, onUndelivered: (@Sendable (Value) -> Void)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        link.complete(.value(value, onUndelivered), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Completes the Deferred with an error; otherwise as ``resolve(_:onUndelivered:fileID:line:)``.
    ///
    /// - Complexity: O(*n*), where *n* is the number of consumers that are notified, with what follows from
    ///   them.
    @discardableResult
    public func reject(_ error: any Error, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
        link.complete(.failure(error), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Completes the Deferred with a result; otherwise as ``resolve(_:onUndelivered:fileID:line:)``.
    ///
    /// - Complexity: O(*n*), where *n* is the number of consumers that are notified, with what follows from
    ///   them.
    @discardableResult
    @inlinable
    public func complete(
        with result: Result<Value, any Error>, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        link.complete(.init(result), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Completes the Deferred with a result that has a typed error; otherwise as
    /// ``resolve(_:onUndelivered:fileID:line:)``.
    @discardableResult
    @inlinable
    public func complete(
        with result: Result<Value, some Error>, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        link.complete(.init(result), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Completes this Deferred with the outcome of `other` (Twisted's `chainDeferred` and HLDeferred's `notify:`, the
    /// other way round). An earlier explicit completion wins. See ``Resolver/follow(_:)``.
    ///
    /// - Complexity: O(*n*), where *n* is the number of Deferreds that `other` waits for, or that wait for
    ///   this one, whichever is smaller: a cycle is searched for.
    public func follow(_ other: Deferred<Value>, fileID: StaticString = #fileID, line: UInt = #line) {
        guard link.isCompletedByHandles else {
            return link.reportNotCompletable(DeferredDiagnostic.Location(fileID: fileID, line: line))
        }
        link.follow(other.link)
    }
}

extension Deferred where Value == Void {
    /// Completes the Deferred; otherwise as ``resolve(_:onUndelivered:fileID:line:)``.
    @discardableResult
    @inlinable
    public func resolve(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
        resolve((), fileID: fileID, line: line)
    }
}
