public import Deferred
internal import Foundation

/// Runs data sources, a limited number of them at once: all transfers of a program, for example.
///
/// ```swift
/// let manager = DataSourceManager(limit: 8, limitPerHost: 2)
/// let pages = addresses.map { manager.request(URLDataSource($0)) }
/// ```
///
/// When fewer than ``limit`` are executing, the next one starts: of those whose dependencies have finished, and whose
/// host is below its limit, the one with the highest `queuePriority`; among equals the one requested first. A data
/// source counts until its operation has finished, the synchronous part of its chain included.
public final class DataSourceManager: Sendable {
    private let scheduler: RequestScheduler

    /// Creates a manager.
    ///
    /// - Parameters:
    ///   - limit: How many may execute at once; at least 1.
    ///   - limitPerHost: How many of these may be transfers from one host; nil for as many as `limit`. Only data sources
    ///     for URLs have a host.
    public init(limit: Int = 4, limitPerHost: Int? = nil) {
        scheduler = RequestScheduler(limit: max(1, limit), limitPerHost: limitPerHost.map { max(1, $0) })
    }

    /// Runs a data source as soon as the limits allow, and returns a Deferred with its outcome, as
    /// `request(on:deliveringOn:)` of the data source itself does.
    ///
    /// After ``stop()`` the Deferred fails with ``DataSourceError/managerStopped``.
    ///
    /// - Parameter dispatcher: Where the outcome is delivered; without it, on the thread on which the work ended or the
    ///   cancel was called.
    public func request<Value: Sendable>(
        _ source: RequestOperation<Value>, deliveringOn dispatcher: (any Dispatcher)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        guard scheduler.acceptsRequests else {
            return .rejected(DataSourceError.managerStopped, fileID: fileID, line: line)
        }
        return source.request(
            deliveringOn: dispatcher, withPlaceIn: nil, observer: scheduler, fileID, line,
            submit: scheduler.schedule)
    }

    /// How many may execute at once. A lower limit leaves those that are executing.
    public var limit: Int {
        get { scheduler.limit }
        set { scheduler.limit = max(1, newValue) }
    }

    /// How many may execute at once from one host; nil for as many as ``limit``.
    public var limitPerHost: Int? {
        get { scheduler.limitPerHost }
        set { scheduler.limitPerHost = newValue.map { max(1, $0) } }
    }

    /// How many are executing.
    public var underWay: Int { scheduler.underWay }

    /// How many wait for the limits or for a dependency.
    public var waiting: Int { scheduler.waiting }

    /// Whether anything is executing, as the network indicator of a status bar shows it.
    public var isNetworkInUse: Bool { scheduler.underWay > 0 }

    /// A stream of ``isNetworkInUse``: its present value, and each change. Ends when the manager has stopped or is
    /// deallocated.
    public var networkUse: AsyncStream<Bool> { scheduler.networkUse.stream() }

    /// Cancels all data sources, those that are executing and those that wait, and accepts no more. Returns a Deferred
    /// that is resolved when all of them have finished.
    ///
    /// Further calls return another Deferred that is resolved at the same time.
    public func stop() -> Deferred<Void> {
        scheduler.stop()
    }
}

/// Notifies listeners of whether the network is in use: of the present state, and of each change.
final class NetworkUse: Sendable {
    private struct State {
        var isInUse = false
        var isOver = false
        var listeners: [Int: AsyncStream<Bool>.Continuation] = [:]
        var nextListener = 0
    }

    private let state = Locked(State())
    /// Listeners are notified on this queue: in order, and without delaying the caller.
    let queue = DispatchQueue(label: "DeferredOperations.NetworkUse")

    /// How many streams receive changes.
    var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// Returns a stream of the present state and of each change.
    func stream() -> AsyncStream<Bool> {
        let (stream, continuation) = AsyncStream<Bool>.makeStream()
        queue.async { [self] in
            let number = state.withLock { state in
                state.nextListener += 1
                return state.nextListener
            }
            // Before the continuation is registered, so that there is no moment at which a stream that ends stays
            // registered. A handler that is set after the end is not called; `yield` reports that end.
            continuation.onTermination = { [weak self] _ in self?.remove(number) }
            let (isInUse, isOver) = state.withLock { state in
                if !state.isOver { state.listeners[number] = continuation }
                return (state.isInUse, state.isOver)
            }
            // Changes are notified on this queue, so that none comes between the registration and this value.
            if case .terminated = continuation.yield(isOver ? false : isInUse) { remove(number) }
            if isOver { continuation.finish() }
        }
        return stream
    }

    private func remove(_ number: Int) {
        _ = state.withLock { $0.listeners.removeValue(forKey: number) }
    }

    /// Notifies the listeners of a change.
    func note(_ isInUse: Bool) {
        queue.async { [self] in
            let listeners = state.withLock { state in
                state.isInUse = isInUse
                return Array(state.listeners.values)
            }
            for listener in listeners { listener.yield(isInUse) }
        }
    }

    /// Ends all streams.
    func end() {
        queue.async { [self] in
            let listeners = state.withLock { state in
                state.isOver = true
                defer { state.listeners = [:] }
                return Array(state.listeners.values)
            }
            for listener in listeners { listener.finish() }
        }
    }
}
