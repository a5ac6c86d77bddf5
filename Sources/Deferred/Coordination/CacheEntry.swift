/// A request of a ``DeferredCache`` that is in progress, what it returned, or both: a value that is kept while a request
/// renews it. ``State`` decides, under the lock; this does what follows.
final class CacheEntry<Key: Hashable & Sendable, Value: Sendable>: CacheRequest {
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

    /// Begins the request, which one caller asked for, from inside of `origin`, and others may share.
    func begin(_ request: Request, _ origin: (any CacheRequest)?) {
        _ = state.withLock { $0.begin(request, origin) }
    }

    /// Returns what is kept to one caller.
    func lookUp() -> State.Lookup { state.withLock { $0.lookUp() } }

    /// Begins a request that renews the value.
    func renew(_ request: Request) -> State.Renewal { state.withLock { $0.renew(request) } }

    /// Adds a caller to a request that may be shared, or returns what is kept.
    func join(_ origin: (any CacheRequest)?) -> State.Joining { state.withLock { $0.join(origin) } }

    enum Departure {
        case someStay
        /// The caller was the last. The keeper is to be cancelled.
        case last(keeper: Deferred<Value>)
        /// Those that stay wait only for each other. The outcome is to be cancelled: they are consumers of it.
        case lastFromOutside(outcome: Deferred<Value>)
    }

    /// Removes a caller of a request, or the cache as that. Ends the request if nobody stays, or only requests that wait
    /// for each other.
    func leave(_ outcome: Deferred<Value>, _ origin: (any CacheRequest)?) -> Departure {
        switch state.withLock({ $0.leave(outcome, origin) }) {
        case .someStay: return .someStay
        case .ended(let request, let before):
            before.kept?.stopTimers()
            return .last(keeper: request.keeper)
        case .requestsStay:
            guard let cycle = requestsWaitingOnlyForEachOther() else { return .someStay }
            // From now on nobody joins one of them. Somebody may have, meanwhile.
            for request in cycle { request.endSharing() }
            guard requestsWaitingOnlyForEachOther() != nil,
                let request = state.withLock({ $0.end() }).request
            else { return .someStay }
            return .lastFromOutside(outcome: request.outcome)
        }
    }

    var callingRequestsOnly: [any CacheRequest]? {
        state.withLock { $0.request != nil ? $0.callers.requestsOnly : nil }
    }

    func endSharing() {
        state.withLock { $0.endSharing() }?.kept?.stopTimers()
        if isInProgress { cache.object?.remove(self) }
    }

    /// Records the outcome of a request. Keeps it if the request may be shared and `isKept` says so.
    func finish(_ number: Int, _ result: Result<Value, any Error>, isKept: Bool) -> State.Finish {
        let finish = state.withLock { $0.finish(number, result, isKept: isKept) }
        finish.replaced?.stopTimers()
        return finish
    }

    /// Has the next call renew what is kept, and expires with `expiry`.
    func setDue(_ expiry: DelayedCall) { state.withLock { $0.setDue(expiry) } }

    /// Releases what is kept, and expires with `expiry`.
    func expire(_ expiry: DelayedCall) -> State.Expiry {
        let end = state.withLock { $0.expire(expiry) }
        switch end {
        case .isObsolete: break
        case .released(let kept), .ended(let kept): kept.renewal.stop()
        }
        return end
    }

    /// Ends an entry that is the least recently used, unless its request is in progress.
    func evict() -> State.Eviction {
        let eviction = state.withLock { $0.evict() }
        if case .ended(let before) = eviction { before.kept?.stopTimers() }
        return eviction
    }

    /// Releases what is kept. A request in progress is shared no more, and its value not kept; the cache that asked for
    /// it, to renew a value, leaves it.
    func forget() -> Departure {
        let before = state.withLock { $0.forget() }
        before.kept?.stopTimers()
        guard let request = before.request, before.isRenewal, before.isShared else { return .someStay }
        return leave(request.outcome, nil)
    }

    /// Ends the entry.
    func end() { state.withLock { $0.end() }.kept?.stopTimers() }
}
