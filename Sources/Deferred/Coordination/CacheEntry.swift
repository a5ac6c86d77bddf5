/// A request of a ``DeferredCache`` that is in progress, or the value that it returned.
final class CacheEntry<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        enum Phase { case inProgress, kept, ended }

        var phase = Phase.inProgress
        /// How many callers asked for the request and have not cancelled.
        var consumers = 1
        /// Whether the cache has forgotten the request: no further caller shares it.
        var isForgotten = false
        /// What the callers' Deferreds follow: the cache has recorded the outcome by then.
        var shared: Deferred<Value>?
        var value: Value?
        var timer: DelayedCall?
    }

    /// What an entry retained; to be released outside of its lock.
    struct Remains: Sendable {
        let shared: Deferred<Value>?
        let value: Value?
        let timer: DelayedCall?
    }

    enum Joined: Sendable { case shared(Deferred<Value>), kept(Value), ended }

    let key: Key
    let hash: Int
    /// Follows the request once that is made.
    let source: Deferred<Value>
    private let state = SpinLocked(State())

    init(_ key: Key, _ hash: Int, _ source: Deferred<Value>) {
        self.key = key
        self.hash = hash
        self.source = source
    }

    var isInProgress: Bool { state.withLock { $0.phase == .inProgress } }
    var isKept: Bool { state.withLock { $0.phase == .kept } }

    func share(_ shared: Deferred<Value>) {
        state.withLock { $0.shared = shared }
    }

    /// Adds a consumer to a request in progress, or returns the value that is kept.
    func join() -> Joined {
        state.withLock { state in
            if let value = state.value { return .kept(value) }
            guard state.phase == .inProgress, !state.isForgotten, let shared = state.shared else {
                return .ended
            }
            state.consumers += 1
            return .shared(shared)
        }
    }

    /// Removes a consumer. Returns whether it was the last of a request in progress, which has ended thereby.
    func leave() -> Bool {
        state.withLock { state in
            state.consumers -= 1
            guard state.consumers == 0, state.phase == .inProgress else { return false }
            state.phase = .ended
            return true
        }
    }

    /// Keeps the value of a request in progress. Returns false if it has ended or was forgotten.
    func keep(_ value: Value, _ timer: DelayedCall) -> Bool {
        state.withLock { state in
            guard state.phase == .inProgress, !state.isForgotten else { return false }
            state.phase = .kept
            state.value = value
            state.timer = timer
            return true
        }
    }

    /// Ends an entry whose value is kept; a request in progress is shared no more.
    func forget() -> Remains? {
        let isInProgress = state.withLock { state in
            state.isForgotten = true
            return state.phase == .inProgress
        }
        return isInProgress ? nil : end()
    }

    /// Ends the entry, and returns what it retained.
    @discardableResult
    func end() -> Remains? {
        state.withLock { state in
            state.phase = .ended
            return Remains(shared: state.shared.take(), value: state.value.take(), timer: state.timer.take())
        }
    }
}
