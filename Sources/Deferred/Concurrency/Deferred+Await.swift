private import Dispatch

extension Deferred {
    /// The value, once this Deferred is resolved; throws the error if it fails.
    ///
    /// The Task is a consumer of this Deferred, and so handles its failure. If the Task is cancelled while it
    /// waits, or was before, this throws `CancellationError` at once, and cancels what this Deferred waits for if
    /// nothing else consumes that (as ``cancel()`` on a position of its own does).
    ///
    /// A Deferred that is settled, is not paused and has called its callbacks returns its outcome at once, without
    /// waiting, and therefore to a cancelled Task, too. While it calls its callbacks, or is paused, a cancelled Task
    /// receives a `CancellationError`, though there is an outcome. So a Task that may be cancelled at that moment
    /// receives either.
    @inlinable
    public nonisolated(nonsending) var value: Value {
        get async throws { try await result.get() }
    }

    /// The outcome, once this Deferred is settled, or a failure with `CancellationError` where ``value`` throws that.
    @inlinable
    public nonisolated(nonsending) var result: Result<Value, any Error> {
        get async {
            if link.peekIfIdle() { return link.payload.result() }
            guard let awaiting = await link.awaitOutcome() else { return .failure(CancellationError()) }
            return awaiting.payload.result()
        }
    }
}

extension Deferred {
    /// Blocks this thread until there is an outcome, and returns the value or throws the error.
    ///
    /// ```swift
    /// let page = try fetchPage().wait(timeout: .seconds(30))
    /// ```
    ///
    /// For command line tools and tests, where nothing else is to be done meanwhile; `await` ``value``
    /// elsewhere. The wait is a consumer of the Deferred, and handles its failure. As long as the Deferred is
    /// paused, it waits also for an outcome that is there (``pause()``).
    ///
    /// The outcome has to be produced on another thread. This throws ``DeferredError/wouldDeadlock(at:)`` with the
    /// place of the call, and does not wait, if what the Deferred waits for is
    ///
    /// - a callback on the main queue or the main actor, and this is called there;
    /// - the callback that this is called from, or one that is notified after that.
    ///
    /// What it waits for is found up the chain, and through nested results. What a ``timeout(_:timer:_:fileID:line:)``
    /// can end is waited for. Possible cancels are not taken into account.
    ///
    /// - Important: The search does not detect other ways to need this thread: a list of which an input needs
    ///   it; a Deferred that follows another, as ``shielded(fileID:line:)``, `retry`, `repeating` and a cache do;
    ///   a serial queue of your own that waits for a callback on itself; a timer on the main queue, or a Task on
    ///   the main actor, that is waited for there; a lock, a semaphore or a queue that only this thread would
    ///   release. Without a time limit such a wait never ends.
    ///
    /// - Parameter timeout: The longest time to wait. When it has passed, this throws
    ///   ``DeferredError/timedOut``; the Deferred is not cancelled, and may be waited for again. Zero or less
    ///   does not wait; `nil` waits without a limit.
    @available(*, noasync, message: "await value or result instead")
    @discardableResult
    public func wait(
        timeout: Duration? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) throws -> Value {
        NestedWork.finishWaiting()
        if !link.isPaused, let result = currentResult { return try result.get() }
        let site = DeferredDiagnostic.Location(.blocking, fileID, line)
        // Replaced before the semaphore is signalled.
        let outcome = SpinLocked<Result<Value, any Error>>(.failure(DeferredError.abandoned))
        let semaphore = DispatchSemaphore(value: 0)
        let waiting = link.attach(
            .step { input in
                let result: Result<Value, any Error> = input.result()
                outcome.withLock { $0 = result }
                semaphore.signal()
                return .value(())
            }, site)
        if timeout.map({ $0 > .zero }) ?? true, waiting.waits(forWhatRunsOn: Platform.currentThread),
            // Unless a cancel has brought an outcome meanwhile.
            waiting.stopWaiting()
        {
            throw DeferredError.wouldDeadlock(at: site)
        }
        if semaphore.wait(timeout: timeout.map { DispatchTime(after: $0) } ?? .distantFuture) == .timedOut {
            // An outcome that arrives between the time limit and this is not lost: it is returned.
            if waiting.stopWaiting() { throw DeferredError.timedOut }
            semaphore.wait()
        }
        return try outcome.withLock { $0 }.get()
    }
}
