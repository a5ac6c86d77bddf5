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
    /// A value that has to be closed or returned needs `onUndelivered`: the operation may succeed all the same when it
    /// was cancelled, and the Task's cancellation may come too late.
    ///
    /// ```swift
    /// let file = Deferred(onUndelivered: { $0.close() }) { try await open(path) }
    /// ```
    ///
    /// - Parameters:
    ///   - priority: The priority of the Task; `nil` for that of the current Task.
    ///   - onUndelivered: Receives the value if nobody receives it otherwise, since the Deferred was cancelled first or
    ///     since its value never reached a callback: see ``resolve(_:onUndelivered:fileID:line:)``. It runs on the
    ///     thread on which the operation ends, or on the one that releases the last reference to the value.
    ///   - operation: Runs on the global executor, or on the actor that it names (`{ @MainActor in … }`). It is
    ///     released when it ends.
    public init(
        priority: TaskPriority? = nil, onUndelivered: (@Sendable (Value) -> Void)? = nil,
        operation: @escaping @Sendable () async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let running = SpinLocked<Task<Void, Never>?>(nil)
        let (deferred, resolver) = Deferred.withResolver(
            DeferredDiagnostic.Location(.task, fileID, line)
        ) { _ in running.withLock { $0 }?.cancel() }
        let task = Task(priority: priority) {
            await resolver.complete(operation, onUndelivered: onUndelivered, fileID, line)
        }
        running.withLock { $0 = task }
        self = deferred
    }
}

extension Deferred.Resolver {
    /// Runs `operation`, in the Task that a cancel of the Deferred cancels, and completes the Deferred with its outcome.
    func complete(
        _ operation: @escaping @Sendable () async throws -> Value,
        onUndelivered: (@Sendable (Value) -> Void)?,
        _ fileID: StaticString, _ line: UInt
    ) async {
        let result: Result<Value, any Error>
        do { result = .success(try await operation()) } catch { result = .failure(error) }
        // A cancel marks the Deferred before it cancels the Task, and fails it after that. What the operation
        // makes of the cancel comes in between, and must not be the outcome.
        switch result {
        case .success(let value) where isCancelled:
            onUndelivered?(value)
        case .success(let value):
            resolve(value, onUndelivered: onUndelivered, fileID: fileID, line: line)
        case .failure(let error):
            if !isCancelled { reject(error, fileID: fileID, line: line) }
        }
    }
}

/// Asynchronous callbacks, each of which runs in a Task of its own while the chain waits for it.
///
/// - **Where the closure runs.** The closure begins when its position is reached. It runs on the global executor, or on
///   the actor that it names (`{ @MainActor in … }`). What follows runs where the Task ends.
/// - **Task-local values.** Those of the attaching call, which creates the Task: see <doc:TaskLocals>. Until the closure
///   begins, the Task is suspended.
/// - **Cancellation.** Cancelling the new link while the chain waits for the Task cancels the Task, and the
///   link fails with `CancellationError` at once.
extension Deferred {
    /// Attaches an asynchronous `callback` and returns a Deferred with the value that it returns.
    ///
    /// ```swift
    /// let page = session.asyncMap { try await $0.page(at: address) }
    /// ```
    ///
    /// - Parameters:
    ///   - priority: The priority of the Task; `nil` for that of the attaching code.
    ///   - callback: Receives the value. An error that it throws fails the returned Deferred. A failure bypasses it.
    public func asyncMap<U: Sendable>(
        priority: TaskPriority? = nil, _ callback: @escaping @Sendable (Value) async throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        CallersTask.calling(priority: priority) { task in
            then(
                { value in task.run({ try await callback(value) }, fileID, line) }, fileID: fileID, line: line
            )
        }
    }

    /// Attaches an asynchronous `callback`, which returns nothing, and returns a Deferred that is resolved when
    /// it has ended. It may end a chain.
    ///
    /// - Parameters:
    ///   - priority: The priority of the Task; `nil` for that of the attaching code.
    ///   - callback: Receives the value. An error that it throws fails the returned Deferred. A failure bypasses it.
    @discardableResult
    public func asyncDone(
        priority: TaskPriority? = nil, _ callback: @escaping @Sendable (Value) async throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        asyncMap(priority: priority, callback, fileID: fileID, line: line)
    }

    /// Attaches an asynchronous `errback` and returns a Deferred with the value that it returns in place of the
    /// failure.
    ///
    /// - Parameters:
    ///   - priority: The priority of the Task; `nil` for that of the attaching code.
    ///   - errback: Receives the error. An error that it throws fails the returned Deferred. A value bypasses it.
    public func asyncRecover(
        priority: TaskPriority? = nil, _ errback: @escaping @Sendable (any Error) async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        CallersTask.calling(priority: priority) { task in
            orElse(
                { error in task.run({ try await errback(error) }, fileID, line) }, fileID: fileID, line: line)
        }
    }
}
