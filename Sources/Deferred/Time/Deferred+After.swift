public import Dispatch

extension Deferred {
    /// A Deferred that fires with `value` after `delay`, on `dispatcher`'s thread.
    ///
    /// ```swift
    /// let late = Deferred.after(.seconds(2), value: cachedPage)
    /// let page = Deferred.after(.seconds(1), on: .main).then { fetchPage() }   // Twisted's deferLater
    /// ```
    ///
    /// Cancelled before, it stops its timer, lets go of the value and fails with `CancellationError`. If the
    /// dispatcher goes without having run it, it fails with ``DeferredError/abandoned``.
    ///
    /// - Parameter delay: How long from now. Zero or less is as soon as possible, but not before this call
    ///   returns.
    public static func after(
        _ delay: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global(), value: Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred {
        let timer = Timer()
        let (deferred, resolver) = withResolver(DeferredDiagnostic.Location(.after, fileID, line)) { _ in
            timer.stop()
        }
        timer.set(delay, on: dispatcher) { resolver.resolve(value, fileID: fileID, line: line) }
        return deferred
    }

    /// As ``after(_:on:value:fileID:line:)``, for a value that says by itself what it is.
    ///
    /// ```swift
    /// let late = Deferred.after(.seconds(2), cachedPage)
    /// ```
    public static func after(
        _ delay: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global(), _ value: Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred {
        after(delay, on: dispatcher, value: value, fileID: fileID, line: line)
    }
}

extension Deferred where Value == Void {
    /// A Deferred that fires after `delay`; as ``after(_:on:value:fileID:line:)``.
    public static func after(
        _ delay: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred {
        after(delay, on: dispatcher, value: (), fileID: fileID, line: line)
    }
}
