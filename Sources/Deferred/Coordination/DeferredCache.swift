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
    private typealias Line = WaitingLine<Resolver<Value>>

    /// A request under way.
    private final class Flight: Sendable {
        struct State {
            var line = Line()
            var request: Deferred<Void>?
            /// The thread that is making the request, if one is.
            var beginner: UInt?
            /// It has an outcome, or nobody wants it.
            var isOver = false
        }
        /// Changed only under the cache's lock.
        let state = Guarded(State())
    }

    private enum Entry {
        case underWay(Flight)
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
    ///   It must not wait for the value of the same `key`, which would be its own: asking for that here fails
    ///   with ``DeferredError/cycle``.
    public func value(
        for key: Key, _ request: () throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        if case .kept(let value, _) = entries.withLock({ $0[key] }) {
            return .resolved(value, fileID: fileID, line: line)
        }
        let place = Guarded<(flight: Flight, ticket: Line.Ticket)?>(nil)
        let (deferred, resolver) = Deferred<Value>.withResolver(
            canceller: { [self] _ in
                if let (flight, ticket) = place.withLock({ $0.take() }) { leave(flight, ticket, key) }
            }, fileID: fileID, line: line)
        let fresh = Flight()
        let thread = Platform.currentThread
        let found = entries.withLock { entries -> Found in
            let flight: Flight
            switch entries[key] {
            case .kept(let value, _): return .value(value)
            case .underWay(let present): flight = present
            case nil:
                flight = fresh
                entries[key] = .underWay(fresh)
            }
            let ticket = flight.state.withLock { state -> Line.Ticket? in
                if state.beginner == thread { return nil }
                if flight === fresh { state.beginner = thread }
                return state.line.append(resolver)
            }
            guard let ticket else { return .itself }
            place.withLock { $0 = (flight, ticket) }
            return flight === fresh ? .new : .shared
        }
        switch found {
        case .value(let value): resolver.resolve(value, fileID: fileID, line: line)
        case .new: begin(fresh, key, request)
        case .shared: break
        case .itself: resolver.reject(DeferredError.cycle, fileID: fileID, line: line)
        }
        return deferred
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
        case value(Value), new, shared, itself
    }

    private func begin(_ flight: Flight, _ key: Key, _ body: () throws -> Deferred<Value>) {
        let made = Deferred<Value>(catching: body)
        flight.state.withLock { $0.beginner = nil }
        let request = made.both { [self] result in finish(flight, key, result) }
        let isOver = entries.withLock { _ in
            flight.state.withLock { state in
                if !state.isOver { state.request = request }
                return state.isOver
            }
        }
        // Everyone may have left while it was being made.
        if isOver { request.cancel() }
    }

    private func finish(_ flight: Flight, _ key: Key, _ result: Result<Value, any Error>) {
        let timer = Timer()
        let (line, isKept) = entries.withLock { entries -> (Line, Bool) in
            let line = flight.state.withLock { state in
                state.isOver = true
                state.request = nil
                defer { state.line = Line() }
                return state.line
            }
            guard case .underWay(let present) = entries[key], present === flight else { return (line, false) }
            if case .success(let value) = result, time > .zero {
                entries[key] = .kept(value, timer)
                return (line, true)
            }
            entries[key] = nil
            return (line, false)
        }
        if isKept {
            timer.set(time, on: dispatcher) { [weak self] in self?.expire(key, timer) }
        }
        var rest = line
        while let asker = rest.popFirst() { asker.complete(with: result) }
    }

    private func expire(_ key: Key, _ timer: Timer) {
        let expired = entries.withLock { entries -> Entry? in
            guard case .kept(_, let present) = entries[key], present === timer else { return nil }
            return entries.removeValue(forKey: key)
        }
        _ = consume expired
    }

    /// One who asked wants no more; the last one takes the request along.
    private func leave(_ flight: Flight, _ ticket: Line.Ticket, _ key: Key) {
        let (asker, request) = entries.withLock { entries in
            let (asker, isLast, request) = flight.state.withLock { state in
                let asker = state.line.remove(ticket)
                let isLast = asker != nil && state.line.isEmpty && !state.isOver
                if isLast { state.isOver = true }
                return (asker, isLast, isLast ? state.request.take() : nil)
            }
            if isLast, case .underWay(let present) = entries[key], present === flight { entries[key] = nil }
            return (asker, request)
        }
        request?.cancel()
        _ = consume asker
    }
}
