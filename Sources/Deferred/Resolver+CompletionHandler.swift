extension Resolver {
    /// Completes the Deferred with the arguments of a completion handler: an error if there is one, otherwise the
    /// value.
    ///
    /// ```swift
    /// legacy.load(from: url) { data, error in resolver.complete(data, error) }
    /// ```
    ///
    /// With neither, the Deferred fails with ``DeferredError/invalidArgument(_:)``. Otherwise behaves as
    /// ``resolve(_:fileID:line:)``.
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

extension Resolver where Value == Void {
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
