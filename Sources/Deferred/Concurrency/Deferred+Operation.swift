extension Deferred {
    /// The outcome of an asynchronous operation, which begins now in a Task of its own.
    ///
    /// ```swift
    /// let page = Deferred { try await session.page(at: address) }
    /// page.cancel()       // cancels the Task
    /// ```
    ///
    /// ``cancel()`` cancels the Task and fails the Deferred with `CancellationError` at once; what the
    /// operation still returns or throws is dropped. Callbacks run on the thread on which the operation ends.
    /// If all handles go, the operation runs on, as a Task does.
    ///
    /// - Parameters:
    ///   - priority: The Task's; the current Task's if left out.
    ///   - operation: Runs on the global executor, or on the actor that it names (`{ @MainActor in … }`). Of what is captured it
    ///     lets go when it ends.
    public init(
        priority: TaskPriority? = nil, operation: @escaping @Sendable () async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let running = Guarded<Task<Void, Never>?>(nil)
        let (deferred, resolver) = Deferred.withResolver(
            DeferredDiagnostic.Location(.task, fileID, line)
        ) { _ in running.withLock { $0 }?.cancel() }
        let task = Task(priority: priority) {
            let result: Result<Value, any Error>
            do { result = .success(try await operation()) } catch { result = .failure(error) }
            resolver.complete(with: result, fileID: fileID, line: line)
        }
        running.withLock { $0 = task }
        self = deferred
    }
}
