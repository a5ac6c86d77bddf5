public import Dispatch

/// A timer that expires when it was not postponed for a while.
///
/// ```swift
/// let idle = IdleTimer(after: .seconds(60))
/// connection.onData { _ in idle.postpone() }
/// idle.deferred.done { connection.close() }
/// ```
///
/// Its ``deferred`` is resolved on the dispatcher's thread. Postponing is cheap: it records the time, and the timer is
/// set anew only when it expires too early. Keep a reference to this object: when it is released, the timer is stopped
/// and the Deferred fails with ``DeferredError/abandoned``. Safe from any thread.
public final class IdleTimer: DeferredConvertible {
    /// Resolved when the timer expires. Its cancel stops the timer.
    public let deferred: Deferred<Void>

    private struct State {
        /// The time, by the dispatcher, of the last call of `postpone()`.
        var start: Duration
        var timer: Timer?
    }

    private let resolver: Resolver<Void>
    private let interval: Duration
    private let dispatcher: any DelayedDispatcher
    private let state: SpinLocked<State>

    /// Creates a timer and starts it.
    ///
    /// - Parameters:
    ///   - interval: How long after its start, or after the last ``postpone()``, the timer expires.
    ///   - dispatcher: Keeps the time.
    public init(
        after interval: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.interval = interval
        self.dispatcher = dispatcher
        let state = SpinLocked(State(start: dispatcher.elapsed))
        self.state = state
        (deferred, resolver) = Deferred.withResolver(
            canceller: { _ in state.withLock { $0.timer.take() }?.stop() }, fileID: fileID, line: line)
        start(interval)
    }

    deinit {
        state.withLock { $0.timer.take() }?.stop()
    }

    /// Starts the interval anew. Does nothing once the timer has expired or was cancelled.
    public func postpone() {
        let now = dispatcher.elapsed
        state.withLock { $0.start = now }
    }

    /// Stops the timer; its Deferred fails with `CancellationError`.
    public func cancel() { deferred.cancel() }

    private func start(_ delay: Duration) {
        let timer = Timer()
        state.withLock { $0.timer = timer }
        timer.set(delay, on: dispatcher) { [weak self] in self?.expire() }
        // Cancelled before the timer was stored.
        if resolver.isCancelled { timer.stop() }
    }

    private func expire() {
        let now = dispatcher.elapsed
        let rest = state.withLock { $0.start + interval - now }
        if rest > .zero { start(rest) } else { resolver.resolve() }
    }
}
