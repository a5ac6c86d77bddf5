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
    /// Another thread has to bring the outcome. Where it is certain that none can, this throws
    /// ``DeferredError/wouldDeadlock(at:)`` with the place of the call, and does not wait. It looks up the
    /// chain, through nested results, lists and what follows another (``shielded(fileID:line:)``, `retry` and
    /// `repeating` do, too), for
    ///
    /// - a callback on the main queue or the main actor, if this is called there;
    /// - a callback that this is called from, or one whose turn comes after that.
    ///
    /// A list that waits for all its inputs needs what any of them needs. One that a single input may decide,
    /// as ``DeferredList/values(fileID:line:)``, ``DeferredList/first(fileID:line:)`` and `gather`, is refused
    /// only if that holds for all inputs still pending; those whose turn a `limit` has not let come don't
    /// count while all places are taken. What somebody may yet fire by hand, with a handle from
    /// ``init(fileID:line:)`` or a ``Resolver``, is waited for even if it follows another, and so is what a
    /// ``timeout(_:on:_:fileID:line:)`` may end. That somebody might cancel is not taken into account.
    ///
    /// - Important: Not found out is what needs this thread in another way: a serial queue of your own that
    ///   waits for a callback on itself; a timer on the main queue or a Task on the main actor that this
    ///   waits for there; a turn with a lock, a semaphore or a queue that only this thread would give.
    ///   Without a timeout that never ends.
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
