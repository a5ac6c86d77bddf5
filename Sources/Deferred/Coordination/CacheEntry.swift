/// A request of a ``DeferredCache`` that is in progress, or the value that it returned.
final class CacheEntry<Key: Hashable & Sendable, Value: Sendable>: CacheRequest {
    struct Request: Sendable {
        /// What the callers' Deferreds follow, before which the cache has recorded the outcome.
        let outcome: Deferred<Value>
        /// A consumer of `outcome`, too, so that nothing but the callers decide when the request is cancelled: with the
        /// keeper.
        let keeper: Deferred<Value>
    }

    /// Without a request and a value, the entry has ended.
    struct State: Sendable {
        /// Who asked for the request in progress and has not cancelled.
        var callers = CacheCallers()
        /// Nil unless the request is in progress.
        var request: Request?
        /// Whether further callers share the request in progress.
        var isShared = false
        var kept: (value: Value, timer: DelayedCall)?
    }

    let key: Key
    let hash: Int
    private let cache: WeakReference<DeferredCache<Key, Value>>
    private let state = SpinLocked(State())

    init(_ key: Key, _ hash: Int, in cache: DeferredCache<Key, Value>) {
        self.key = key
        self.hash = hash
        self.cache = WeakReference(cache)
    }

    var isInProgress: Bool { state.withLock { $0.request != nil } }
    var isKept: Bool { state.withLock { $0.kept != nil } }
    var keptValue: Value? { state.withLock { $0.kept?.value } }

    /// Begins the request, which one caller asked for, from inside of `origin`, and others may share.
    func begin(_ request: Request, _ origin: (any CacheRequest)?) {
        state.withLock { $0 = State(callers: CacheCallers(origin), request: request, isShared: true) }
    }

    enum Joined {
        case kept(Value)
        case shares(Deferred<Value>)
        case hasEnded
    }

    /// Adds a caller to a request that may be shared, or returns the value that is kept.
    func join(_ origin: (any CacheRequest)?) -> Joined {
        state.withLock { state in
            if let kept = state.kept { return .kept(kept.value) }
            guard let request = state.request, state.isShared else { return .hasEnded }
            state.callers.add(origin)
            return .shares(request.outcome)
        }
    }

    enum Departure {
        case someStay
        /// The caller was the last. The keeper is to be cancelled.
        case last(keeper: Deferred<Value>)
        /// Those that stay wait only for each other. The outcome is to be cancelled: they are consumers of it.
        case lastFromOutside(outcome: Deferred<Value>)
    }

    /// Removes a caller. Ends the request if nobody stays, or only requests that wait for each other.
    func leave(_ origin: (any CacheRequest)?) -> Departure {
        // Released after the critical section.
        var (before, requestsStay) = (State(), false)
        state.withLock { state in
            guard state.request != nil else { return }
            state.callers.remove(origin)
            requestsStay = !state.callers.isEmpty && state.callers.areRequestsOnly
            if state.callers.isEmpty { swap(&before, &state) }
        }
        if let request = before.request { return .last(keeper: request.keeper) }
        guard requestsStay, let cycle = requestsWaitingOnlyForEachOther() else { return .someStay }
        // From now on nobody joins one of them. Somebody may have, meanwhile.
        for request in cycle { request.endSharing() }
        guard requestsWaitingOnlyForEachOther() != nil, let request = state.exchange({ _ in State() }).request
        else { return .someStay }
        return .lastFromOutside(outcome: request.outcome)
    }

    var callingRequestsOnly: [any CacheRequest]? {
        state.withLock { $0.request != nil ? $0.callers.requestsOnly : nil }
    }

    func endSharing() {
        end { $0.request == nil ? $0 : State(callers: $0.callers, request: $0.request) }
        if isInProgress { cache.object?.remove(self) }
    }

    /// Keeps the value of a request that may be shared. Returns false for another.
    func keep(_ value: Value, _ timer: DelayedCall) -> Bool {
        state.exchange { $0.isShared ? State(kept: (value, timer)) : $0 }.isShared
    }

    /// Releases a value that is kept; a request in progress is shared no more, and its value not kept.
    func forget() {
        end { $0.request == nil ? State() : State(callers: $0.callers, request: $0.request) }
    }

    /// Ends the entry.
    func end() { end { _ in State() } }

    private func end(_ after: (State) -> State) { state.exchange(after).kept?.timer.stop() }
}
