private import Dispatch

extension Deferred {
    /// Blocks this thread until there is an outcome, and gives the value or throws the error.
    ///
    /// ```swift
    /// let page = try fetchPage().wait(timeout: .seconds(30))
    /// ```
    ///
    /// For command line tools and tests, where nothing else is to be done meanwhile; `await` ``value``
    /// elsewhere. This is a consumer of the Deferred, and handles its failure.
    ///
    /// Another thread has to bring the outcome. Where that can't be, since it takes a callback on the main
    /// queue and this is that queue, or one that this is called from, or one whose turn comes after that,
    /// this throws ``DeferredError/wouldDeadlock(at:)`` with the place of the call, and does not wait.
    ///
    /// - Important: A serial queue of your own that waits for a callback on itself is not found out: without
    ///   a timeout that never ends.
    ///
    /// - Parameter timeout: How long to wait at most. When it has passed this throws
    ///   ``DeferredError/timedOut``; the Deferred is not cancelled, and may be waited for again. Zero or less
    ///   looks, and does not wait.
    @available(*, noasync, message: "await value or result instead")
    @discardableResult
    public func wait(
        timeout: Duration? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) throws -> Value {
        if let result = currentResult { return try result.get() }
        let site = DeferredDiagnostic.Location(.blocking, fileID, line)
        let outcome = Guarded<Result<Value, any Error>?>(nil)
        let semaphore = DispatchSemaphore(value: 0)
        let waiting = link.attach(
            .step { input in
                let result: Result<Value, any Error>? = input.result()
                outcome.withLock { $0 = result }
                semaphore.signal()
                return .value(())
            }, site)
        if timeout.map({ $0 > .zero }) ?? true, waiting.waits(forWhatRunsOn: Platform.currentThread) {
            waiting.withdraw()
            throw DeferredError.wouldDeadlock(at: site)
        }
        if let timeout {
            _ = semaphore.wait(timeout: .now() + DispatchTimeInterval(timeout))
        } else {
            semaphore.wait()
        }
        if let result = outcome.withLock({ $0 }) { return try result.get() }
        waiting.withdraw()
        throw DeferredError.timedOut
    }
}

extension Link {
    /// Stops waiting, and cancels nothing.
    fileprivate func withdraw() {
        var frame = Frame()
        frame.withdraw(self)
        frame.run()
    }
}
