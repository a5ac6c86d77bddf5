/// A request of a ``DeferredCache`` that is in progress, what it returned, or both: a value that is kept while a request
/// renews it.
final class CacheEntry<Key: Hashable & Sendable, Value: Sendable>: CacheRequest {
    struct Request: Sendable {
        /// Tells the requests of an entry apart.
        let number: Int
        /// What the callers' Deferreds follow, before which the cache has recorded the outcome.
        let outcome: Deferred<Value>
        /// A consumer of `outcome`, too, so that nothing but the callers decide when the request is cancelled: with the
        /// keeper.
        let keeper: Deferred<Value>
    }

    /// An outcome that is kept.
    struct Kept: Sendable {
        let result: Result<Value, any Error>
        /// Ends that.
        let expiry = DelayedCall()
        /// Has the next call renew it.
        var renewal = DelayedCall()
        var isDue = false

        func stopTimers() {
            expiry.stop()
            renewal.stop()
        }
    }

    /// Without a request and an outcome, the entry has ended.
    struct State: Sendable {
        /// Who asked for the request in progress and has not cancelled. One that renews a value is asked for by the cache,
        /// which counts as a caller from outside.
        var callers = CacheCallers()
        /// Nil unless the request is in progress.
        var request: Request?
        /// Whether further callers share the request in progress.
        var isShared = false
        /// Whether the cache itself asked for the request in progress.
        var isRenewal = false
        var kept: Kept?
        /// The number of the latest request.
        var number = 0

        /// The state without what is kept, which further callers do not share.
        var unshared: State { State(callers: callers, request: request, number: number) }
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

    /// Begins the request, which one caller asked for, from inside of `origin`, and others may share.
    func begin(_ request: Request, _ origin: (any CacheRequest)?) {
        state.withLock { $0 = State(callers: CacheCallers(origin), request: request, isShared: true) }
    }

    /// Returns what is kept, and the number of the request that is to renew it, to one caller.
    func takeKept() -> (result: Result<Value, any Error>, renewal: Int?)? {
        state.withLock { state in
            guard let kept = state.kept else { return nil }
            guard kept.isDue, state.request == nil else { return (kept.result, nil) }
            state.kept?.isDue = false
            state.number += 1
            return (kept.result, state.number)
        }
    }

    /// Begins a request that renews the value. Returns false if that is not kept any more.
    func renew(_ request: Request) -> Bool {
        state.withLock { state in
            guard state.kept != nil, state.request == nil else { return false }
            (state.request, state.isShared, state.isRenewal) = (request, true, true)
            state.callers = CacheCallers(nil)
            return true
        }
    }

    enum Joined {
        case kept(Result<Value, any Error>)
        case shares(Deferred<Value>)
        case hasEnded
    }

    /// Adds a caller to a request that may be shared, or returns what is kept.
    func join(_ origin: (any CacheRequest)?) -> Joined {
        state.withLock { state in
            if let kept = state.kept { return .kept(kept.result) }
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

    /// Removes a caller of a request, or the cache as that. Ends the request if nobody stays, or only requests that wait
    /// for each other.
    func leave(_ outcome: Deferred<Value>, _ origin: (any CacheRequest)?) -> Departure {
        // Released after the critical section.
        var (before, requestsStay) = (State(), false)
        state.withLock { state in
            guard state.request?.outcome == outcome else { return }
            state.callers.remove(origin)
            requestsStay = !state.callers.isEmpty && state.callers.areRequestsOnly
            if state.callers.isEmpty { swap(&before, &state) }
        }
        before.kept?.stopTimers()
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
        end { $0.request == nil ? $0 : $0.unshared }
        if isInProgress { cache.object?.remove(self) }
    }

    /// What becomes of an entry whose request has ended.
    enum Ending {
        /// It was of use only for those who share it, and has ended.
        case ended
        /// It was ended, or another request has begun.
        case obsolete
        case keeps(Kept)
        /// The older value is kept, until it expires.
        case keepsOlder(Kept)
    }

    /// Records the outcome of a request. Keeps it if the request may be shared and `isKept` says so. Returns also
    /// whether nobody but the cache asked for it.
    func finish(_ number: Int, _ result: Result<Value, any Error>, isKept: Bool) -> (Ending, isUnseen: Bool) {
        var before = State()
        let ending: Ending = state.withLock { state in
            guard state.request?.number == number else { return .obsolete }
            before = state
            state = State(number: state.number)
            if case .failure = result, var older = before.kept {
                // The next call tries again; if failures are kept, after that time.
                older.isDue = !isKept
                older.renewal = DelayedCall()
                state.kept = older
                return .keepsOlder(older)
            }
            guard isKept, before.isShared else { return .ended }
            let kept = Kept(result: result)
            state.kept = kept
            return .keeps(kept)
        }
        if case .keepsOlder = ending {} else { before.kept?.stopTimers() }
        return (ending, before.isRenewal && before.callers.isOneFromOutside)
    }

    /// Has the next call renew what is kept, and expires with `expiry`.
    func setDue(_ expiry: DelayedCall) {
        state.withLock { if $0.kept?.expiry === expiry { $0.kept?.isDue = true } }
    }

    /// Releases what is kept, and expires with `expiry`. Returns whether the entry has ended.
    func expire(_ expiry: DelayedCall) -> Bool {
        let before = state.exchange { state in
            guard state.kept?.expiry === expiry else { return state }
            var after = state
            after.kept = nil
            return after
        }
        guard let kept = before.kept, kept.expiry === expiry else { return false }
        kept.renewal.stop()
        return before.request == nil
    }

    /// Ends an entry that is the least recently used, unless its request is in progress. Returns whether it has ended.
    func evict() -> Bool {
        let before = state.exchange { $0.request == nil ? State() : $0 }
        if before.request == nil { before.kept?.stopTimers() }
        return before.request == nil
    }

    /// Releases what is kept. A request in progress is shared no more, and its value not kept; the cache that asked for
    /// it, to renew a value, leaves it.
    func forget() -> Departure {
        let before = end { $0.request == nil ? State() : $0.unshared }
        guard let request = before.request, before.isRenewal, before.isShared else { return .someStay }
        return leave(request.outcome, nil)
    }

    /// Ends the entry.
    func end() { end { _ in State() } }

    @discardableResult
    private func end(_ after: (State) -> State) -> State {
        let before = state.exchange(after)
        before.kept?.stopTimers()
        return before
    }
}
