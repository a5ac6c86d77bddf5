public import Dispatch

/// One request for many who ask: as long as it is under way, whoever asks for the same key shares it; for a
/// while after it has succeeded, its value is there at once.
///
/// ```swift
/// let pages = DeferredCache<String, Page>(keepingFor: .seconds(60))
/// func page(at address: String) -> Deferred<Page> {
///     pages.value(for: address) { fetchPage(address) }
/// }
/// ```
///
/// Everyone who asks has a Deferred of their own and may cancel it: the others go on. The last one out
/// cancels the request, and who asks after that begins a new one. A failure goes to all who shared it, and is
/// not kept. Safe from any thread.
public final class DeferredCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// A request under way.
    private final class Flight: Sendable {
        struct State {
            /// How many asked and have not left.
            var askers = 0
            /// The thread that is making the request, if one is.
            var beginner: UInt?
            /// It has an outcome, or nobody wants it.
            var isOver = false
        }
        /// Changed only under the cache's lock.
        let state: Guarded<State>
        /// Follows the request as soon as that is made.
        let source: Deferred<Value>

        init(_ source: Deferred<Value>, beginner: UInt) {
            self.source = source
            state = Guarded(State(beginner: beginner))
        }
    }

    private enum Entry {
        /// And what those follow who share it: the cache has taken notice of its outcome by then.
        case underWay(Flight, Deferred<Value>)
        case kept(Value, Timer)
    }

    private let entries = Guarded<[Key: Entry]>([:])
    private let time: Duration
    private let dispatcher: any DelayedDispatcher

    /// An empty cache.
    ///
    /// - Parameters:
    ///   - time: How long a value is kept after it came. Zero or less: not at all, requests are shared and nothing more.
    ///   - dispatcher: Keeps that time.
    public init(
        keepingFor time: Duration = .zero, on dispatcher: any DelayedDispatcher = DispatchQueue.global()
    ) {
        self.time = time
        self.dispatcher = dispatcher
    }

    /// The value for `key`: one that is kept, that of the request under way, or that of a new `request`.
    ///
    /// - Parameter request: Runs at once, on this thread, if there is neither. What it throws is the failure.
    ///   It must not wait for the value of the same `key`, which would be its own, neither here nor later, nor
    ///   by way of other keys: the ring fails with ``DeferredError/cycle``.
    public func value(
        for key: Key, _ request: () throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        if case .kept(let value, _) = entries.withLock({ $0[key] }) {
            return .resolved(value, fileID: fileID, line: line)
        }
        switch join(key, fileID, line) {
        case .value(let value):
            return .resolved(value, fileID: fileID, line: line)
        case .itself:
            return .rejected(DeferredError.cycle, fileID: fileID, line: line)
        case .shared(let flight, let shared):
            return asker(of: flight, shared, key, fileID, line)
        case .new(let flight, let shared, let resolver):
            let first = asker(of: flight, shared, key, fileID, line)
            begin(flight, request)
            // Until the request is followed this is what keeps it from being abandoned.
            withExtendedLifetime(resolver) {}
            return first
        }
    }

    /// As the form above, for an asynchronous `request`, which runs in a Task.
    @_disfavoredOverload
    public func value(
        for key: Key, _ request: @escaping @Sendable () async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        value(
            for: key, { Deferred(operation: request, fileID: fileID, line: line) }, fileID: fileID, line: line
        )
    }

    /// Drops the value kept for `key`. A request under way goes on for those who share it, but is neither
    /// kept nor shared any more.
    public func forget(_ key: Key) {
        let entry = entries.withLock { $0.removeValue(forKey: key) }
        if case .kept(_, let timer) = entry { timer.stop() }
    }

    /// As ``forget(_:)``, for all keys.
    public func forgetAll() {
        let all = entries.withLock { entries in
            let all = entries
            entries = [:]
            return all
        }
        for case .kept(_, let timer) in all.values { timer.stop() }
    }

    /// How many requests are under way.
    public var underWayCount: Int {
        entries.withLock { $0.values.count { if case .underWay = $0 { true } else { false } } }
    }

    /// How many values are kept.
    public var keptCount: Int {
        entries.withLock { $0.values.count { if case .kept = $0 { true } else { false } } }
    }

    private enum Found {
        case value(Value), itself
        case shared(Flight, Deferred<Value>)
        case new(Flight, Deferred<Value>, Resolver<Value>)
    }

    /// What there is for `key`; if it is a request, one more asks for it.
    private func join(_ key: Key, _ fileID: StaticString, _ line: UInt) -> Found {
        let thread = Platform.currentThread
        return entries.withLock { entries in
            switch entries[key] {
            case .kept(let value, _):
                return .value(value)
            case .underWay(let flight, let shared):
                return flight.state.withLock { state in
                    if state.beginner == thread { return .itself }
                    state.askers += 1
                    return .shared(flight, shared)
                }
            case nil:
                let (source, resolver) = Deferred<Value>.withResolver(fileID: fileID, line: line)
                let flight = Flight(source, beginner: thread)
                flight.state.withLock { $0.askers = 1 }
                let site = DeferredDiagnostic.Location(.both, fileID, line)
                let shared: Deferred<Value> = source.attach(nil, site) { [self] input in
                    finish(flight, key, input.result())
                    return input.copy()
                }
                shared.link.disownFailure()
                entries[key] = .underWay(flight, shared)
                return .new(flight, shared, resolver)
            }
        }
    }

    /// A Deferred for one who asks. It follows the request, so that a ring through the cache can be seen (L5).
    private func asker(
        of flight: Flight, _ shared: Deferred<Value>, _ key: Key, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<Value> {
        let (deferred, resolver) = Deferred<Value>.withResolver(
            canceller: { [self] own in
                let isLast = leave(flight, key)
                // A request that answers its cancel answers nobody.
                own.reject(CancellationError(), fileID: fileID, line: line)
                if isLast { flight.source.cancel() }
            }, fileID: fileID, line: line)
        resolver.follow(shared)
        return deferred
    }

    private func begin(_ flight: Flight, _ body: () throws -> Deferred<Value>) {
        let made = Deferred<Value>(catching: body)
        flight.state.withLock { $0.beginner = nil }
        // Everyone may have left while it was being made.
        if !flight.source.link.follow(made.link) { made.cancel() }
    }

    private func finish(_ flight: Flight, _ key: Key, _ result: Result<Value, any Error>) {
        let timer = Timer()
        let isKept = entries.withLock { entries -> Bool in
            flight.state.withLock { $0.isOver = true }
            guard case .underWay(let present, _) = entries[key], present === flight else { return false }
            if case .success(let value) = result, time > .zero {
                entries[key] = .kept(value, timer)
                return true
            }
            entries[key] = nil
            return false
        }
        if isKept {
            timer.set(time, on: dispatcher) { [weak self] in self?.expire(key, timer) }
        }
    }

    private func expire(_ key: Key, _ timer: Timer) {
        let expired = entries.withLock { entries -> Entry? in
            guard case .kept(_, let present) = entries[key], present === timer else { return nil }
            return entries.removeValue(forKey: key)
        }
        _ = consume expired
    }

    /// One who asked wants no more; true if that was the last one, who takes the request along.
    private func leave(_ flight: Flight, _ key: Key) -> Bool {
        entries.withLock { entries in
            let isLast = flight.state.withLock { state in
                state.askers -= 1
                if state.askers > 0 || state.isOver { return false }
                state.isOver = true
                return true
            }
            if isLast, case .underWay(let present, _) = entries[key], present === flight {
                entries[key] = nil
            }
            return isLast
        }
    }
}
