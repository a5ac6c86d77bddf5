public import Dispatch

extension Deferred {
    /// The outcome of the first attempt that succeeds.
    ///
    /// ```swift
    /// let page = Deferred.retry(attempts: 5, delay: .exponential(), when: { $0 is Unavailable }) {
    ///     fetchPage()
    /// }
    /// ```
    ///
    /// When there is no further attempt, for want of attempts or because of the error, it fails with a
    /// ``RetryError``, which keeps each attempt's error. A cancel takes effect at any point: it cancels the
    /// attempt under way, or stops the wait for the next one, and no other is made. A `CancellationError` is
    /// never tried again, and comes as it is.
    ///
    /// - Parameters:
    ///   - attempts: How many at most, the first among them; at least 1.
    ///   - delay: How long to wait before each further attempt.
    ///   - dispatcher: Keeps the time, and runs all attempts but the first, which runs at once, on this thread.
    ///   - isWorthRetrying: Which errors to try again after; all, if left out. Runs on the thread on which the attempt failed.
    ///   - body: Makes an attempt. What it throws is that attempt's error.
    public static func retry(
        attempts: Int = 3, delay: RetryDelay = .exponential(),
        on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        when isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true },
        _ body: @escaping @Sendable () throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        retry(
            attempts: attempts, delay: delay, on: dispatcher, when: isWorthRetrying, { _ in try body() },
            fileID: fileID, line: line)
    }

    /// As the form above, for a `body` that wants to know the number of the attempt, from 1.
    public static func retry(
        attempts: Int = 3, delay: RetryDelay = .exponential(),
        on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        when isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true },
        _ body: @escaping @Sendable (_ attempt: Int) throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        let flaw = attempts < 1 ? "attempts must be 1 or more, is \(attempts)" : delay.flaw
        if let flaw {
            return .rejected(DeferredError.invalidArgument("retry: \(flaw)"), fileID: fileID, line: line)
        }
        let (deferred, resolver) = withResolver(fileID: fileID, line: line)
        let retrying = Retrying(
            attempts: attempts, delay: delay, dispatcher: dispatcher, isWorthRetrying: isWorthRetrying,
            body: body, resolver: resolver)
        resolver.follow(only: retrying.attempt(1))
        return deferred
    }

    /// As the form above, for an asynchronous `body`.
    ///
    /// ```swift
    /// let page = Deferred.retry(attempts: 5) { try await session.page(at: address) }
    /// ```
    ///
    /// Each attempt runs in a Task of its own, on the global executor or on the actor that `body` names
    /// (`{ @MainActor in … }`); a cancel cancels that of the attempt under way.
    @_disfavoredOverload
    public static func retry(
        attempts: Int = 3, delay: RetryDelay = .exponential(),
        on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        when isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true },
        _ body: @escaping @Sendable () async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        retry(
            attempts: attempts, delay: delay, on: dispatcher, when: isWorthRetrying,
            { _ throws -> Deferred<Value> in Deferred(operation: body, fileID: fileID, line: line) },
            fileID: fileID, line: line)
    }

    /// As the form above, for an asynchronous `body` that wants to know the number of the attempt, from 1.
    @_disfavoredOverload
    public static func retry(
        attempts: Int = 3, delay: RetryDelay = .exponential(),
        on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        when isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true },
        _ body: @escaping @Sendable (_ attempt: Int) async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        retry(
            attempts: attempts, delay: delay, on: dispatcher, when: isWorthRetrying,
            { number throws -> Deferred<Value> in
                Deferred(operation: { try await body(number) }, fileID: fileID, line: line)
            }, fileID: fileID, line: line)
    }
}

/// The attempts, each nested in the errback of the one before.
private struct Retrying<Value: Sendable>: Sendable {
    let attempts: Int
    let delay: RetryDelay
    let dispatcher: any DelayedDispatcher
    let isWorthRetrying: @Sendable (any Error) -> Bool
    let body: @Sendable (Int) throws -> Deferred<Value>
    let resolver: Resolver<Value>
    let errors = Guarded<[any Error]>([])

    func attempt(_ number: Int) -> Deferred<Value> {
        Deferred(catching: { () throws -> Deferred<Value> in try body(number) })
            .fail { error throws -> Deferred<Value> in
                if resolver.isCancelled {
                    // Whatever a cancelled attempt answers it was the last. If the cancel is over, this is
                    // too late, and is dropped there without a word; down this chain it might be reported as
                    // unhandled.
                    resolver.reject(error)
                    throw CancellationError()
                }
                if error is CancellationError { throw error }
                errors.withLock { $0.append(error) }
                guard number < attempts, isWorthRetrying(error) else {
                    throw RetryError(errors.withLock { $0 })
                }
                return Deferred<Void>.after(delay.next(number, error), on: dispatcher)
                    .then { attempt(number + 1) }
            }
    }
}
