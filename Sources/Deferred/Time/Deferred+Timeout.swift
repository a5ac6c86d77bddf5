public import Dispatch

extension Deferred {
    /// Limits how long to wait for the outcome. After that, cancels what precedes this position in the chain and
    /// fails with ``DeferredError/timedOut``, or takes the outcome of `onTimeout`.
    ///
    /// ```swift
    /// fetchPage()
    ///     .timeout(.seconds(5))
    ///     .done { show($0) }      // the timer is stopped: this may take longer
    /// ```
    ///
    /// Expiry acts as ``cancel()`` on this position: it reaches what only this position waits for, and nothing that
    /// others consume. What comes of the cancel is the outcome, mostly ``DeferredError/timedOut`` in place of its
    /// `CancellationError`: a canceller upstream may complete its Deferred with a result of its own, an errback for
    /// every error (`recover { _ in 0 }`) handles the cancel, and an `always` that throws replaces it. Put those
    /// below. `onTimeout` runs only if the time limit is what ended this Deferred: not after a cancel from elsewhere,
    /// which stays a `CancellationError`, and not if the outcome came first.
    ///
    /// A callback upstream that is running when the time is up is allowed to finish, and its own link takes its
    /// outcome; then this position ends as said. A synchronous callback that runs longer than the limit is not
    /// interrupted. The timer is stopped, and all that it retains is released, as soon as this position is settled.
    ///
    /// - Parameters:
    ///   - delay: How long to wait, from now. Zero or less is as soon as possible. A Deferred that is settled when
    ///     this is called is always in time.
    ///   - timer: Measures the time. The cancel, and what follows from it, happens on its thread.
    ///   - onTimeout: Runs when the time is up, on the timer's thread; what it returns or throws is the outcome.
    public func timeout(
        _ delay: Duration, timer: any DelayedDispatcher = DispatchQueue.global(),
        _ onTimeout: (@Sendable () throws -> Value)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        limited(delay, timer, fileID, line) { input in
            guard input.error is CancellationError else { return input.copy() }
            return .catching {
                guard let onTimeout else { throw DeferredError.timedOut }
                return try onTimeout()
            }
        }
    }

    /// Limits how long to wait for the outcome; `onTimeout` receives what came of the cancel.
    ///
    /// ```swift
    /// let lines = log.readAll().timeout(.seconds(5)) { outcome in (try? outcome.get()) ?? [] }
    /// ```
    ///
    /// Behaves as ``timeout(_:timer:_:fileID:line:)``, but the closure runs whenever the time was up first, also if a
    /// canceller or an errback upstream made something else of the cancel.
    ///
    /// - Parameters:
    ///   - delay: How long to wait, from now.
    ///   - timer: Measures the time.
    ///   - onTimeout: Runs when the time is up, with the value or error that the cancel led to, mostly a
    ///     `CancellationError`; what it returns or throws is the outcome.
    public func timeout(
        _ delay: Duration, timer: any DelayedDispatcher = DispatchQueue.global(),
        _ onTimeout: @escaping @Sendable (_ outcome: Result<Value, any Error>) throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        limited(delay, timer, fileID, line) { input in .catching { try onTimeout(input.result()) } }
    }

    /// Limits how long to wait for the outcome; `onTimeout` runs on the main actor. Otherwise behaves as
    /// ``timeout(_:timer:_:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - delay: How long to wait, from now.
    ///   - timer: Measures the time.
    ///   - onTimeout: Runs on the main actor when the time is up; what it returns or throws is the outcome.
    public func timeout(
        _ delay: Duration, on _: MainActor.Type, timer: any DelayedDispatcher = DispatchQueue.global(),
        _ onTimeout: @escaping @MainActor @Sendable () throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        limited(delay, timer, fileID, line) { input in
            guard input.error is CancellationError else { return input.copy() }
            return .wait(for: Deferred<Void>.catching(on: MainActor.self, fileID, line, onTimeout).link)
        }
    }

    /// Limits how long to wait for the outcome; `onTimeout` runs on the main actor, and receives what came of the
    /// cancel. Otherwise behaves as the form without `on:`.
    ///
    /// - Parameters:
    ///   - delay: How long to wait, from now.
    ///   - timer: Measures the time.
    ///   - onTimeout: Runs on the main actor when the time is up, with the value or error that the cancel led to; what
    ///     it returns or throws is the outcome.
    public func timeout(
        _ delay: Duration, on _: MainActor.Type, timer: any DelayedDispatcher = DispatchQueue.global(),
        _ onTimeout: @escaping @MainActor @Sendable (_ outcome: Result<Value, any Error>) throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        limited(delay, timer, fileID, line) { input in
            let outcome: Result<Value, any Error> = input.result()
            let made = Deferred<Void>.catching(on: MainActor.self, fileID, line) { try onTimeout(outcome) }
            return .wait(for: made.link)
        }
    }

    private func limited(
        _ delay: Duration, _ timer: any DelayedDispatcher, _ fileID: StaticString, _ line: UInt,
        _ expired: @escaping @Sendable (_ input: borrowing Payload) -> Payload
    ) -> Deferred<Value> {
        let call = DelayedCall()
        // What is settled now is in time, also if a pause delays its consumers.
        let isInTime = link.isSettled
        let limited: Deferred<Value> = attach(nil, .init(.timeout, fileID, line)) { input in
            call.stop() ? input.copy() : expired(input)
        }
        if !isInTime {
            call.set(delay, timer: timer, unless: { limited.link.isBeingCancelled }) { limited.cancel() }
        }
        return limited
    }

    /// Limits how long to wait for the outcome by a deadline that several steps share.
    ///
    /// ```swift
    /// let deadline = Deadline(after: .seconds(10))
    /// logIn().timeout(until: deadline)
    ///     .then { user in fetchPage(of: user).timeout(until: deadline) }
    /// ```
    ///
    /// Behaves as ``timeout(_:timer:_:fileID:line:)`` with the time that is left until then. Once the deadline has
    /// passed, the cancel is submitted to the deadline's timer at once: an outcome that comes before the
    /// timer runs it is in time.
    public func timeout(
        until deadline: Deadline, _ onTimeout: (@Sendable () throws -> Value)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        timeout(deadline.remaining, timer: deadline.timer, onTimeout, fileID: fileID, line: line)
    }

    /// Limits how long to wait for the outcome by a deadline that several steps share.
    /// `onTimeout` runs on the main actor. Otherwise behaves as the form without `on:`.
    public func timeout(
        until deadline: Deadline, on _: MainActor.Type,
        _ onTimeout: @escaping @MainActor @Sendable () throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        timeout(
            deadline.remaining, on: MainActor.self, timer: deadline.timer, onTimeout, fileID: fileID,
            line: line)
    }
}

/// A point in time, measured by a timer, by which several steps have to be done together.
///
/// ```swift
/// let deadline = Deadline(after: .seconds(10))
/// let page = logIn().timeout(until: deadline)
///     .then { fetchPage(of: $0).timeout(until: deadline) }
///     .then { page in Deferred.retry(within: deadline.remaining) { save(page).timeout(until: deadline) } }
/// ```
public struct Deadline: Sendable, CustomStringConvertible {
    /// Measures the time of the deadline.
    public let timer: any DelayedDispatcher
    private let due: Duration

    /// Creates a deadline `delay` from now.
    ///
    /// - Parameters:
    ///   - delay: How long from now.
    ///   - timer: Measures the time; time limits with this deadline expire on its thread.
    public init(after delay: Duration, timer: any DelayedDispatcher = DispatchQueue.global()) {
        self.timer = timer
        due = timer.elapsed + delay
    }

    /// The time that is left; zero once the deadline has passed.
    public var remaining: Duration { max(due - timer.elapsed, .zero) }

    /// Whether the deadline has passed.
    public var hasPassed: Bool { timer.elapsed >= due }

    /// The time that is left, in words: `Deadline in 2.0 seconds`.
    public var description: String {
        hasPassed ? "Deadline that has passed" : "Deadline in \(remaining)"
    }
}
