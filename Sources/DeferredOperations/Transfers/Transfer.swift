internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// One transfer: a request, the redirects and challenges that it meets, and the body of the last answer,
/// which a sink receives.
///
/// Calls come from three sides: the session's delegate queue, the timer, and the caller that starts or stops the
/// transfer. Each takes the lock, checks that the transfer is still in the phase that the call is about,
/// and moves on; the call that moves it to `concluding` has decided how it ends. The end itself is on the
/// transfer's own queue, or a global one: the session's must neither wait nor run callbacks of the outcome.
///
///     idle ── start ──> running ── conclude ──> concluding ── queue ──> over
///       └────────────────── stop, from anywhere ─────────────────────────┘
///
/// The sink is called under the lock, so that when `stop()` has returned nothing more is written. Nothing of the
/// user's is: closures run on the transfer's queue, and what the transfer no longer needs (``Leftovers``) is
/// cancelled and released when the lock has been released.
///
/// Sound as `@unchecked Sendable`: `state` and the sink are touched only under `lock`; the rest never
/// changes.
final class Transfer: @unchecked Sendable {
    enum Phase { case idle, running, concluding, over }

    /// How the body that is being received is used.
    enum BodyUse {
        /// It is the one wanted.
        case sink
        /// It is kept until the answer has been validated.
        case staged(StagedAnswer)
        /// Its first bytes become part of an error.
        case sample(Data)
        case ignored
    }

    /// An object, so that it can be released elsewhere than the transfer.
    ///
    /// Sound as `@unchecked Sendable`: it is accessed only under the transfer's lock.
    final class State: @unchecked Sendable {
        let options: TransferOptions
        let sink: any TransferSink
        var phase = Phase.idle
        var request: URLRequest
        /// Counts the requests; what a closure decides about an earlier one is ignored.
        var round = 0
        /// The present task; events of others are ignored.
        var task: URLSessionTask?
        var response: HTTPURLResponse?
        var bodyUse = BodyUse.ignored
        /// How much of the present body has been received, and how much was announced.
        var received: Int64 = 0
        var announced: Int64?
        var redirectCount = 0
        var challengeCount = 0
        /// The streams that have been sent as the body, and can't be sent again. Kept until the end, since they
        /// may be of a class of the user's.
        var sentStreams: [InputStream] = []
        /// Cancels what a closure of the user's has returned and has not been settled.
        var cancelQuestion: (@Sendable () -> Void)?
        /// Whether a closure of the user's is taking its time: silence does not count.
        var waitsForUser = false
        /// Whether the transfer waits for `unpause()`.
        var isPaused = false
        /// Whether the head of the answer is being validated, and whether the body has ended meanwhile.
        var isValidating = false
        var hasValidated = false
        var hasAnswerEnded = false
        /// Why the body has ended early while the head was being validated.
        var answerFailure: (any Error)?
        var progress = TransferProgress()
        var isReporting = false
        /// When the user was last notified of the progress.
        var reported: ContinuousClock.Instant?
        var metrics = TransferMetrics()
        var wasHeard = false
        var silentTicks = 0
        var silenceTimer: (any DelayedWork)?
        var totalTimer: (any DelayedWork)?
        /// The time limit that has passed before the start.
        var passedLimit: DataSourceError.TimeLimit?
        /// Receives the outcome, once; not if the transfer is stopped. A success on `queue`, a failure on a global one.
        var completion: (@Sendable (Result<HTTPURLResponse, any Error>, TransferMetrics) -> Void)?

        init(_ request: URLRequest, _ options: TransferOptions, _ sink: any TransferSink) {
            self.request = request
            self.options = options
            self.sink = sink
        }
    }

    let lock: TransferLock
    /// Nil in `deinit` only.
    private var storage: State?
    var state: State { storage! }
    var sink: any TransferSink { state.sink }
    var options: TransferOptions { state.options }
    let session: TransferSession
    let queue = DispatchQueue(label: "DeferredOperations.Transfer", target: .global())

    /// - Parameter lock: The transfer's own; a test passes one that it observes.
    init(
        _ request: URLRequest, _ options: TransferOptions, _ session: TransferSession,
        into sink: any TransferSink, lock: TransferLock = TransferLock()
    ) {
        storage = State(request, options, sink)
        self.session = session
        self.lock = lock
    }

    deinit {
        // The last reference to the transfer may be released on one of the session's queues, where all transfers wait.
        // What the user's closures capture is released on the transfer's own: the block has the last reference to it.
        let remains = Unmanaged.passRetained(state)
        storage = nil
        queue.async { remains.release() }
    }

    var metrics: TransferMetrics { lock.withLock { state.metrics } }

    /// Whether `task` is what the transfer waits for.
    func isWaiting(for task: URLSessionTask) -> Bool {
        lock.withLock { state.phase == .running && state.task === task }
    }

    // MARK: Starting and stopping

    /// Starts the transfer, unless it has been stopped.
    ///
    /// - Parameter completion: Receives the outcome, once, on the transfer's queue, a failure on a global one; not if
    ///   the transfer is stopped.
    func start(
        requestedAt: ContinuousClock.Instant?,
        completion: @escaping @Sendable (Result<HTTPURLResponse, any Error>, TransferMetrics) -> Void
    ) {
        let request = lock.withLock { () -> URLRequest? in
            guard state.phase == .idle else { return nil }
            state.phase = .running
            state.completion = completion
            state.metrics.requested = requestedAt
            state.metrics.started = .now
            return state.request
        }
        guard let request else { return }
        startTimers(for: request)
        lock.withLock {
            // A time limit may have ended the transfer, or sent a request to a mirror.
            guard isCurrent(0) else { return }
            if let limit = state.passedLimit { return fail(DataSourceError.timedOut(url, limit)) }
            resend(request)
        }
    }

    /// Ends the transfer; its completion is not called. When this returns nothing more is written, and what was
    /// written has been removed, the file at its destination included if this transfer had put it there.
    func stop() {
        let (leftovers, completion) = lock.withLock {
            // First, so that it has been removed when the server notices the end of the connection.
            sink.discard()
            let leftovers = state.phase == .over ? nil : end()
            return (leftovers, state.completion.take())
        }
        leftovers?.cancel(session)
        // Its captures are released outside the lock.
        _ = consume completion
    }

    /// Ends the transfer with `result`. Under the lock; the transfer is running.
    ///
    /// A success follows the closures of the user's that are running on the transfer's queue. A failure does not wait
    /// for them: one that never returns is ended by a time limit.
    func conclude(_ result: Result<HTTPURLResponse, any Error>) {
        let leftovers = end()
        state.phase = .concluding
        let ending = if case .success = result { queue } else { DispatchQueue.global() }
        ending.async { [self] in
            leftovers.cancel(session)
            let outcome: Result<HTTPURLResponse, any Error>? = lock.withLock {
                guard state.phase == .concluding else { return nil }
                state.phase = .over
                do {
                    let response = try result.get()
                    try sink.finish()
                    return .success(response)
                } catch {
                    sink.discard()
                    return .failure(error)
                }
            }
            guard let outcome else { return }
            if case .success = outcome { reportFinalProgress() }
            let (completion, metrics) = lock.withLock { (state.completion.take(), state.metrics) }
            completion?(outcome, metrics)
        }
    }

    /// Continues after a failure with another request, if the sink has a mirror, or ends. Under the lock; the transfer
    /// is running.
    func fail(_ error: any Error, from cause: FailureCause = .transfer) {
        guard let next = sink.request(after: error, from: cause) else {
            return conclude(.failure(error))
        }
        state.redirectCount = 0
        state.challengeCount = 0
        state.hasValidated = false
        resend(next)
    }

    /// Resources that a transfer no longer needs, to be cancelled and released outside of the lock: timers and closures
    /// are the user's.
    struct Leftovers: Sendable {
        let timers: [any DelayedWork]
        let task: URLSessionTask?
        let cancelQuestion: (@Sendable () -> Void)?

        func cancel(_ session: TransferSession) {
            for timer in timers { timer.cancel() }
            if let task { session.control.async { task.cancel() } }
            if let cancelQuestion { DispatchQueue.global().async(execute: cancelQuestion) }
        }
    }

    /// Detaches the task, the timers and the question. Under the lock.
    private func end() -> Leftovers {
        state.phase = .over
        state.metrics.ended = .now
        return Leftovers(
            timers: [state.silenceTimer.take(), state.totalTimer.take()].compactMap { $0 },
            task: state.task.take(), cancelQuestion: state.cancelQuestion.take())
    }
}

/// The lock of a transfer; a class with a subclass in the tests, which runs what another thread might do as soon as the lock
/// has been released.
///
/// Sound as `@unchecked Sendable`: `NSLock` is thread-safe.
class TransferLock: @unchecked Sendable {
    private let lock = NSLock()

    func withLock<R>(_ body: () throws -> R) rethrows -> R { try lock.withLock(body) }
}
