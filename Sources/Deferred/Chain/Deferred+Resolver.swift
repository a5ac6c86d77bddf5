extension Deferred {
    /// The right to complete one Deferred, separate from the Deferred itself: return the Deferred to the caller,
    /// and keep the resolver where the result comes from.
    ///
    /// A resolver may be copied, and called from any thread; the first result counts. If the last copy is
    /// released before that, the Deferred fails with ``DeferredError/abandoned``.
    public struct Resolver: Sendable {
        @usableFromInline let right: CompletionRight

        init(_ right: CompletionRight) { self.right = right }
    }
}

extension Deferred.Resolver {
    /// Resolves the Deferred with a value. Returns true if this call completed it.
    ///
    /// Callbacks run before this returns, on this thread, unless they name a dispatcher or the Deferred is
    /// paused. If the Deferred is settled already, nothing changes, and that is reported as
    /// ``DeferredDiagnostic/alreadySettled(made:settledFirst:again:)``. The first result after a cancel is
    /// dropped without a report.
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
        right.complete(.value(value, onUndelivered), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Rejects the Deferred with an error. Otherwise behaves as ``resolve(_:onUndelivered:fileID:line:)``.
    ///
    /// - Complexity: O(*n*), where *n* is the number of consumers that are notified, with what follows from
    ///   them.
    @discardableResult
    public func reject(_ error: any Error, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
        right.complete(.failure(error), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Completes the Deferred with a result. Otherwise behaves as ``resolve(_:onUndelivered:fileID:line:)``.
    ///
    /// - Complexity: O(*n*), where *n* is the number of consumers that are notified, with what follows from
    ///   them.
    @discardableResult
    @inlinable
    public func complete(
        with result: Result<Value, any Error>, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        right.complete(.init(result), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Completes the Deferred with a result that has a typed error. Otherwise behaves as
    /// ``resolve(_:onUndelivered:fileID:line:)``.
    @discardableResult
    @inlinable
    public func complete(
        with result: Result<Value, some Error>, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        right.complete(.init(result), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Makes the Deferred take the outcome of `other`. An earlier explicit completion wins.
    ///
    /// The Deferred is a consumer of `other`: cancelling the Deferred cancels `other` if nothing else consumes
    /// that, after the Deferred's own canceller, and unless that completes the Deferred. If `other` waits for
    /// the Deferred itself, the Deferred fails with ``DeferredError/cycle``. Does nothing if the Deferred is
    /// settled.
    ///
    /// - Complexity: O(*n*), where *n* is the number of Deferreds that `other` waits for, or that wait for
    ///   this one, whichever is smaller: a cycle is searched for.
    public func follow(_ other: Deferred<Value>) {
        if let source = right.source { source.follow(other.link) }
    }

    /// Makes the Deferred take the outcome of what was made for it. If it was settled or cancelled meanwhile, that is
    /// cancelled, as far as nothing else consumes it, and a failure is not reported (C2, C4).
    package func follow(orCancel made: Deferred<Value>) {
        if let source = right.source, source.follow(made.link) { return }
        made.link.attach(.step { _ in .value(()) }, made.link.made.of(.hidden)).cancel()
    }

    /// As ``Deferred/disownFailure()``, for the Deferred that this completes.
    package func disownFailure() { right.source?.disownFailure() }

    /// Whether the Deferred has its outcome, so that a further result would be dropped and reported.
    ///
    /// False proves nothing where another thread may complete it: `resolve` and `reject` return whether they did.
    public var isSettled: Bool { right.source == nil }

    /// Whether the Deferred was cancelled while it was pending, so that nothing waits for the result any
    /// more.
    public var isCancelled: Bool { right.isCancelled }
}

extension Deferred.Resolver {
    /// Completes the Deferred with the arguments of a completion handler: an error if there is one, otherwise the
    /// value.
    ///
    /// ```swift
    /// legacy.load(from: url) { data, error in resolver.complete(data, error) }
    /// ```
    ///
    /// With neither, the Deferred fails with ``DeferredError/invalidArgument(_:)``. Otherwise behaves as
    /// ``resolve(_:onUndelivered:fileID:line:)``.
    ///
    /// - Returns: Whether this call completed the Deferred.
    @discardableResult
    public func complete(
        _ value: Value?, _ error: (any Error)?, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        if let error { return reject(error, fileID: fileID, line: line) }
        if let value { return resolve(value, fileID: fileID, line: line) }
        let reason = "a completion handler at \(fileID):\(line) received neither a value nor an error"
        return reject(DeferredError.invalidArgument(reason), fileID: fileID, line: line)
    }

    /// Returns a completion handler that completes the Deferred, as ``complete(_:_:fileID:line:)`` does.
    ///
    /// ```swift
    /// let data = Deferred<Data> { resolver in
    ///     legacy.load(from: url, completionHandler: resolver.completionHandler())
    /// }
    /// ```
    ///
    /// If the handler is released without having been called, the Deferred fails with ``DeferredError/abandoned``.
    public func completionHandler(
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> @Sendable (Value?, (any Error)?) -> Void {
        { value, error in complete(value, error, fileID: fileID, line: line) }
    }
}

extension Deferred.Resolver where Value == Void {
    /// Resolves the Deferred. Otherwise behaves as ``resolve(_:onUndelivered:fileID:line:)``.
    @discardableResult
    @inlinable
    public func resolve(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
        resolve((), fileID: fileID, line: line)
    }

    /// Completes the Deferred with the argument of a completion handler that receives an error or nil.
    ///
    /// ```swift
    /// legacy.save(page) { error in resolver.complete(error) }
    /// ```
    ///
    /// - Returns: Whether this call completed the Deferred.
    @discardableResult
    public func complete(
        _ error: (any Error)?, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        complete((), error, fileID: fileID, line: line)
    }

    /// Returns a completion handler that receives an error or nil and completes the Deferred, as
    /// ``complete(_:fileID:line:)`` does.
    ///
    /// ```swift
    /// let saved = Deferred<Void> { resolver in
    ///     legacy.save(page, completionHandler: resolver.completionHandler())
    /// }
    /// ```
    public func completionHandler(
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> @Sendable ((any Error)?) -> Void {
        { error in complete(error, fileID: fileID, line: line) }
    }
}
