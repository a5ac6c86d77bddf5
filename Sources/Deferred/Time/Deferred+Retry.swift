public import Dispatch

extension Deferred {
    /// Makes attempts until one succeeds, and returns its value.
    ///
    /// ```swift
    /// let page = Deferred.retry(attempts: 5, delay: .exponential(), when: { $0 is Unavailable }) {
    ///     fetchPage()
    /// }
    /// ```
    ///
    /// If no further attempt is made, the Deferred fails with the last attempt's error, unchanged. A cancel takes
    /// effect at any time: it cancels the attempt in progress, or stops the wait for the next one, and no further
    /// attempt is made. After a `CancellationError` no further attempt is made either. Earlier attempts' errors are
    /// released, so that any number of attempts takes constant memory.
    ///
    /// To limit an attempt, put a `timeout` inside `body`; to cut off the attempt in progress as well when the total
    /// time is up, put one after `retry`.
    ///
    /// - Parameters:
    ///   - attempts: The largest number of attempts, the first included; at least 1.
    ///   - limit: The total time. No further attempt is made that would start later than this after the first one;
    ///     the last attempt may take longer, and one whose timer expires late is made then. No limit if nil.
    ///   - delay: How long to wait before each further attempt.
    ///   - timer: Measures the time, and runs all attempts but the first, which runs at once, on this thread.
    ///   - isWorthRetrying: Returns whether to make a further attempt after an error; after all errors, if left out.
    ///     Runs on the thread on which the attempt failed.
    ///   - body: Makes an attempt. What it throws is that attempt's error.
    public static func retry(
        attempts: Int = 3, within limit: Duration? = nil, delay: RetryDelay = .exponential(),
        timer: any DelayedDispatcher = DispatchQueue.global(),
        when isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true },
        _ body: @escaping @Sendable () throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        retry(
            attempts: attempts, within: limit, delay: delay, timer: timer, when: isWorthRetrying,
            { _ in try body() }, fileID: fileID, line: line)
    }

    /// Makes attempts until one succeeds, and returns its value; `body` receives the number of the attempt, from 1.
    ///
    /// Otherwise behaves as the form whose `body` takes no argument.
    public static func retry(
        attempts: Int = 3, within limit: Duration? = nil, delay: RetryDelay = .exponential(),
        timer: any DelayedDispatcher = DispatchQueue.global(),
        when isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true },
        _ body: @escaping @Sendable (_ attempt: Int) throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        var invalid = attempts < 1 ? "attempts must be 1 or more, is \(attempts)" : delay.invalidReason
        if let limit, limit < .zero { invalid = "the total time must not be negative, is \(limit)" }
        if let invalid {
            return .rejected(DeferredError.invalidArgument("retry: \(invalid)"), fileID: fileID, line: line)
        }
        let (deferred, resolver) = withResolver(fileID: fileID, line: line)
        let retrying = RetryAttempts(
            attempts: attempts, deadline: limit.map { timer.elapsed + $0 }, delay: delay,
            timer: timer.retainedByWork,
            isWorthRetrying: DeferredTaskLocals.areCarried
                ? DeferredTaskLocals.carrying(isWorthRetrying) : isWorthRetrying,
            body: DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(body) : body, resolver: resolver
        )
        resolver.follow(retrying.outcome(of: retrying.make(1), 1))
        return deferred
    }

    /// Makes attempts on the main actor until one succeeds, and returns its value. The first is not made before this
    /// returns. Otherwise behaves as the form without `on:`.
    ///
    /// ```swift
    /// let page = Deferred.retry(attempts: 5, on: MainActor.self) { self.attempts += 1; return fetchPage() }
    /// ```
    ///
    /// - Parameters:
    ///   - attempts: The largest number of attempts, the first included; at least 1.
    ///   - limit: The total time after which no further attempt starts. No limit if nil.
    ///   - delay: How long to wait before each further attempt.
    ///   - timer: Measures the time.
    ///   - isWorthRetrying: Returns whether to make a further attempt after an error; after all errors, if left out.
    ///     Runs on the thread on which the attempt failed.
    ///   - body: Makes an attempt. What it throws is that attempt's error.
    public static func retry(
        attempts: Int = 3, within limit: Duration? = nil, delay: RetryDelay = .exponential(),
        on _: MainActor.Type, timer: any DelayedDispatcher = DispatchQueue.global(),
        when isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true },
        _ body: @escaping @MainActor @Sendable () throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        retry(
            attempts: attempts, within: limit, delay: delay, timer: timer, when: isWorthRetrying,
            { _ throws -> Deferred<Value> in
                Deferred<Void>.following(on: MainActor.self, fileID, line) { try body() }
            }, fileID: fileID, line: line)
    }

    /// Makes attempts on the main actor until one succeeds, and returns its value; `body` receives the number of the
    /// attempt, from 1. The first is not made before this returns. Otherwise behaves as the form without `on:`.
    public static func retry(
        attempts: Int = 3, within limit: Duration? = nil, delay: RetryDelay = .exponential(),
        on _: MainActor.Type, timer: any DelayedDispatcher = DispatchQueue.global(),
        when isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true },
        _ body: @escaping @MainActor @Sendable (_ attempt: Int) throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        retry(
            attempts: attempts, within: limit, delay: delay, timer: timer, when: isWorthRetrying,
            { number throws -> Deferred<Value> in
                Deferred<Void>.following(on: MainActor.self, fileID, line) { try body(number) }
            }, fileID: fileID, line: line)
    }

    /// Makes asynchronous attempts until one succeeds, and returns its value.
    ///
    /// ```swift
    /// let page = Deferred.asyncRetry(attempts: 5) { try await session.page(at: address) }
    /// ```
    ///
    /// The attempts run in one Task, on the global executor or on the actor that `body` names (`{ @MainActor in … }`).
    /// This call creates it: each attempt sees the call's task-local values. A cancel cancels the Task. Otherwise behaves
    /// as `retry`.
    ///
    /// - Parameters:
    ///   - attempts: The largest number of attempts, the first included; at least 1.
    ///   - limit: The total time. No further attempt is made that would start later. No limit if nil.
    ///   - delay: How long to wait before each further attempt.
    ///   - timer: Measures the time, and begins all attempts but the first.
    ///   - isWorthRetrying: Returns whether to make a further attempt after an error; after all errors, if left out.
    ///   - body: Makes an attempt. What it throws is that attempt's error.
    public static func asyncRetry(
        attempts: Int = 3, within limit: Duration? = nil, delay: RetryDelay = .exponential(),
        timer: any DelayedDispatcher = DispatchQueue.global(),
        when isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true },
        _ body: @escaping @Sendable () async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        asyncRetry(
            attempts: attempts, within: limit, delay: delay, timer: timer, when: isWorthRetrying,
            { _ in try await body() }, fileID: fileID, line: line)
    }

    /// Makes asynchronous attempts until one succeeds, and returns its value; `body` receives the number of the
    /// attempt, from 1.
    public static func asyncRetry(
        attempts: Int = 3, within limit: Duration? = nil, delay: RetryDelay = .exponential(),
        timer: any DelayedDispatcher = DispatchQueue.global(),
        when isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true },
        _ body: @escaping @Sendable (_ attempt: Int) async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        CallersTask.calling { task in
            retry(
                attempts: attempts, within: limit, delay: delay, timer: timer, when: isWorthRetrying,
                { number throws -> Deferred<Value> in task.run({ try await body(number) }, fileID, line) },
                fileID: fileID, line: line)
        }
    }
}

/// The attempts of a `retry`, each nested in the errback of the one before (L6: in constant memory).
private struct RetryAttempts<Value: Sendable>: Sendable {
    let attempts: Int
    /// The latest time, by the timer, at which an attempt may start.
    let deadline: Duration?
    let delay: RetryDelay
    let timer: any DelayedDispatcher
    let isWorthRetrying: @Sendable (any Error) -> Bool
    let body: @Sendable (Int) throws -> Deferred<Value>
    let resolver: Deferred<Value>.Resolver

    func make(_ number: Int) -> Deferred<Value> {
        Deferred(following: { () throws -> Deferred<Value> in try body(number) })
    }

    /// Returns the outcome of an attempt, or of those that follow it: in a loop as long as they fail at once and the
    /// timer runs its work within the call that submits it (no recursion).
    func outcome(of made: Deferred<Value>, _ number: Int) -> Deferred<Value> {
        var (made, number) = (made, number)
        while true {
            guard made.link.peekIfIdle() else {
                return made.attach(nil, DeferredDiagnostic.Location(.orElse, #fileID, #line)) {
                    [number] input in
                    // The last failure passes unchanged: that of cancelled work is not reported (U1).
                    guard let error = input.error else { return input.copy() }
                    return switch next(after: number, error) {
                    case .none: input.copy()
                    case .made(let made): .wait(for: outcome(of: made, number + 1).link)
                    case .later(let rest): .wait(for: rest.link)
                    }
                }
            }
            // An attempt that fails at once leaves no link in the chain.
            guard let error = made.link.observedError else { return made }
            // Cancelled while its body ran, the attempt ends with the body's error (C5).
            if resolver.isCancelled { resolver.reject(error) }
            switch next(after: number, error) {
            case .none: return made
            case .made(let further): (made, number) = (further, number + 1)
            case .later(let rest): return rest
            }
        }
    }

    /// What follows an attempt that has failed.
    private enum Next {
        case none
        /// A further attempt: it was made within the call that set the timer.
        case made(Deferred<Value>)
        /// The outcome of the further attempts, which have yet to be made.
        case later(Deferred<Value>)
    }

    /// Waits for the next attempt, if there is to be one.
    private func next(after number: Int, _ error: any Error) -> Next {
        if resolver.isCancelled {
            // A cancelled attempt is the last, whatever its error. If the cancel has settled the Deferred
            // already, nothing receives that, and it is not reported.
            let failed = Link(.settled, .failure(error, silence: 1), .init(.hidden, #fileID, #line))
            return .later(Deferred(failed))
        }
        if error is CancellationError { return .none }
        guard number < attempts, isWorthRetrying(error) else { return .none }
        let pause = delay.delay(afterAttempt: number, error)
        if let deadline, timer.elapsed + pause > deadline { return .none }
        // Attached before the timer is set, so that the attempt is made on the dispatcher.
        let (wait, start) = Deferred<Void>.delayed((), #fileID, #line)
        let (setting, made) = (AttachingCall(), SpinLocked<Deferred<Value>?>(nil))
        let rest = wait.then(
            { () -> Deferred<Value> in
                let further = make(number + 1)
                guard setting.noteRun() else { return outcome(of: further, number + 1) }
                made.withLock { $0 = further }
                // Nothing receives this.
                return .rejected(CancellationError())
            },
            orElse: { error throws -> Deferred<Value> in
                resolver.disownFailure()
                throw error
            })
        start(pause, timer)
        if setting.end(), let made = made.withLock({ $0.take() }) { return .made(made) }
        return .later(rest)
    }
}
