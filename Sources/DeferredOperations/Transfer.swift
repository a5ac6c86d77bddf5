internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// One transfer: a request, the redirects and challenges that it meets, and the body of the last answer,
/// which goes to a sink.
///
/// Calls come from three sides: the session's delegate queue, the clock, and whoever starts or stops the
/// transfer. Each takes the lock, looks whether the transfer is still at the stage that the call is about,
/// and moves on; whoever moves it to `concluding` has decided how it ends. The end itself is on the
/// transfer's own queue: the session's must neither wait nor run what hangs on the outcome.
///
///     idle ── start ──> running ── conclude ──> concluding ── queue ──> over
///       └────────────────── stop, from anywhere ─────────────────────────┘
///
/// The sink is called under the lock, so that when `stop()` has returned nothing more is written.
///
/// Sound as `@unchecked Sendable`: `state` and the sink are touched only under `lock`; the rest never
/// changes.
final class Transfer: @unchecked Sendable {
    enum Stage { case idle, running, concluding, over }

    /// What becomes of the body that is coming in.
    enum BodyUse {
        /// It is the one wanted.
        case sink
        /// Its first bytes go into an error.
        case sample(Data)
        case ignored
    }

    struct State {
        var stage = Stage.idle
        var request: URLRequest
        /// The present task; what others still have to say is not listened to.
        var task: URLSessionTask?
        var response: HTTPURLResponse?
        var bodyUse = BodyUse.ignored
        /// How much of the present body has come, and how much was announced.
        var received: Int64 = 0
        var announced: Int64?
        var redirectCount = 0
        var challengeCount = 0
        var challenge: Deferred<URLRequest?>?
        var progress = TransferProgress()
        var isReporting = false
        /// When the user was last told.
        var reported: ContinuousClock.Instant?
        var metrics = TransferMetrics()
        var wasHeard = false
        var silentTicks = 0
        var silenceTimer: (any DelayedWork)?
        var totalTimer: (any DelayedWork)?
        /// Told the outcome, once, on `queue`; not if the transfer is stopped.
        var completion: (@Sendable (Result<HTTPURLResponse, any Error>, TransferMetrics) -> Void)?
    }

    let lock = NSLock()
    var state: State
    let sink: any TransferSink
    let options: TransferOptions
    let session: TransferSession
    let queue = DispatchQueue(label: "DeferredOperations.Transfer", target: .global())

    init(
        _ request: URLRequest, _ options: TransferOptions, _ session: TransferSession,
        into sink: any TransferSink
    ) {
        state = State(request: request)
        self.options = options
        self.session = session
        self.sink = sink
    }

    var metrics: TransferMetrics { lock.withLock { state.metrics } }

    // MARK: Starting and stopping

    /// - Parameter completion: Told the outcome, once, on the transfer's queue; not if the transfer is
    ///   stopped.
    func start(
        requestedAt: ContinuousClock.Instant?,
        completion: @escaping @Sendable (Result<HTTPURLResponse, any Error>, TransferMetrics) -> Void
    ) {
        let request = lock.withLock { () -> URLRequest? in
            guard state.stage == .idle else { return nil }
            state.stage = .running
            state.completion = completion
            state.metrics.requested = requestedAt
            state.metrics.started = .now
            return state.request
        }
        guard let request else { return }
        startTimers(for: request)
        send(request)
    }

    /// Ends the transfer; its completion is not called. When this returns nothing more is written, and what
    /// was is gone, the file at its destination included if the transfer had put it there.
    func stop() {
        let completion = lock.withLock {
            // First, so that it has gone when the server sees the client leave.
            sink.discard()
            if state.stage != .over { end() }
            return state.completion.take()
        }
        // What it holds is let go outside the lock.
        _ = consume completion
    }

    /// Makes the present task the one for `request`.
    func send(_ request: URLRequest) {
        session.control.async { [self] in
            guard lock.withLock({ state.stage == .running }) else { return }
            var request = request
            request.timeoutInterval = TransferSession.foundationTimeout
            let original = request
            request.url = request.url?.asSent
            let task: URLSessionTask =
                if let file = options.uploadFile, request.httpMethod != "GET" {
                    session.session.uploadTask(with: request, fromFile: file)
                } else {
                    session.session.dataTask(with: request)
                }
            let isWanted = lock.withLock {
                guard state.stage == .running else { return false }
                state.request = original
                state.task = task
                state.response = nil
                state.bodyUse = .ignored
                state.received = 0
                state.announced = nil
                state.metrics.requestCount += 1
                return true
            }
            guard isWanted else { return task.cancel() }
            session.router.add(self, for: task)
            task.resume()
        }
    }

    /// Moves on to the end that `result` is. Under the lock; the transfer is running.
    func conclude(_ result: Result<HTTPURLResponse, any Error>) {
        end()
        state.stage = .concluding
        queue.async { [self] in
            let outcome: Result<HTTPURLResponse, any Error>? = lock.withLock {
                guard state.stage == .concluding else { return nil }
                state.stage = .over
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

    /// Lets go of the task, the clock and the challenge. Under the lock.
    private func end() {
        state.stage = .over
        state.metrics.ended = .now
        state.silenceTimer?.cancel()
        state.totalTimer?.cancel()
        state.silenceTimer = nil
        state.totalTimer = nil
        let task = state.task.take()
        let challenge = state.challenge.take()
        if task == nil && challenge == nil { return }
        session.control.async {
            task?.cancel()
            challenge?.cancel()
        }
    }
}
