public import Dispatch

extension Deferred {
    /// Returns a Deferred that is resolved with `value` after `delay`, on `timer`'s thread.
    ///
    /// ```swift
    /// let late = Deferred.after(.seconds(2), value: cachedPage)
    /// let page = Deferred.after(.seconds(1), timer: .main).then { fetchPage() }   // Twisted's deferLater
    /// ```
    ///
    /// A cancel before that stops the timer, releases the value and fails the Deferred with `CancellationError`. If
    /// the timer is released before the delay has passed, the Deferred fails with
    /// ``DeferredError/abandoned``. A callback that is attached after the delay has passed runs on the thread that
    /// attaches it; name a dispatcher at the callback where that matters.
    ///
    /// - Parameters:
    ///   - delay: How long from now. Zero or less is as soon as possible, but not before this call returns.
    ///   - timer: Measures the time.
    ///   - value: The value of the Deferred.
    public static func after(
        _ delay: Duration, timer: any DelayedDispatcher = DispatchQueue.global(), value: Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred {
        let (deferred, start) = delayed(value, fileID, line)
        start(delay, timer)
        return deferred
    }

    /// Returns a Deferred and a closure that starts its timer; without a delay, that resolves the Deferred at once.
    static func delayed(
        _ value: Value, _ fileID: StaticString, _ line: UInt
    ) -> (Deferred, start: (Duration?, any DelayedDispatcher) -> Void) {
        let call = DelayedCall()
        let (deferred, resolver) = withResolver(DeferredDiagnostic.Location(.after, fileID, line)) { _ in
            call.stop()
        }
        func start(after delay: Duration?, timer: any DelayedDispatcher) {
            let resolve = { @Sendable in _ = resolver.resolve(value, fileID: fileID, line: line) }
            if let delay { call.set(delay, timer: timer, resolve) } else { resolve() }
        }
        return (deferred, start)
    }
}

extension Deferred where Value == Void {
    /// Returns a Deferred that is resolved after `delay`; as ``after(_:timer:value:fileID:line:)``, without a value.
    ///
    /// - Parameters:
    ///   - delay: How long from now.
    ///   - timer: Measures the time.
    public static func after(
        _ delay: Duration, timer: any DelayedDispatcher = DispatchQueue.global(),
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred {
        after(delay, timer: timer, value: (), fileID: fileID, line: line)
    }
}
