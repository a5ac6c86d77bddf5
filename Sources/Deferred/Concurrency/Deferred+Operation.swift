extension Deferred {
    /// Starts an asynchronous operation in a Task of its own, and takes its outcome.
    ///
    /// ```swift
    /// let page = Deferred { try await session.page(at: address) }
    /// page.cancel()       // cancels the Task
    /// ```
    ///
    /// ``cancel()`` cancels the Task and fails the Deferred with `CancellationError` at once; what the operation
    /// returns or throws from then on is dropped, whichever thread is faster. Callbacks run on the thread on which
    /// the operation ends. If all handles are released, the operation continues, as a Task does.
    ///
    /// - Parameters:
    ///   - priority: The priority of the Task; `nil` for that of the current Task.
    ///   - operation: Runs on the global executor, or on the actor that it names (`{ @MainActor in … }`). It is released when
    ///     it ends.
    public init(
        priority: TaskPriority? = nil, operation: @escaping @Sendable () async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let running = SpinLocked<Task<Void, Never>?>(nil)
        let (deferred, resolver) = Deferred.withResolver(
            DeferredDiagnostic.Location(.task, fileID, line)
        ) { _ in running.withLock { $0 }?.cancel() }
        let task = Task(priority: priority) {
            let result: Result<Value, any Error>
            do { result = .success(try await operation()) } catch { result = .failure(error) }
            // A cancel marks the Deferred before it cancels the Task, and fails it after that. What the operation
            // makes of the cancel comes in between, and must not be the outcome.
            if resolver.isCancelled { return }
            resolver.complete(with: result, fileID: fileID, line: line)
        }
        running.withLock { $0 = task }
        self = deferred
    }
}
