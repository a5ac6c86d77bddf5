public import Dispatch

/// A cache that makes one request for all callers who ask for the same key: a request in progress is shared, and a
/// value may be kept for a while after the request has succeeded.
///
/// ```swift
/// let pages = DeferredCache<String, Page>(keepingFor: .seconds(60))
/// func page(at address: String) -> Deferred<Page> {
///     pages.value(for: address) { fetchPage(address) }
/// }
/// ```
///
/// Each caller gets a Deferred of its own and may cancel it without affecting the others. When the last one has
/// cancelled, the request is cancelled, and the next call makes a new one. A failure is passed to all who shared the
/// request, and is not kept. Safe from any thread. A key's `==` and `hash` run under no lock.
public final class DeferredCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Entry = CacheEntry<Key, Value>

    /// By the keys' hash values: keys are compared outside of the lock.
    private let buckets = SpinLocked<[Int: [Entry]]>([:])
    private let time: Duration
    private let timer: any DelayedDispatcher

    /// Creates an empty cache.
    ///
    /// ```swift
    /// let shared = DeferredCache<String, Page>()                                     // shares requests only
    /// let kept = DeferredCache<String, Page>(keepingFor: .seconds(60), timer: .main) // forgets on the main queue
    /// ```
    ///
    /// - Parameters:
    ///   - time: How long a value is kept. Zero or less: not at all, requests are only shared.
    ///   - timer: Measures that time.
    public init(
        keepingFor time: Duration = .zero, timer: any DelayedDispatcher = DispatchQueue.global()
    ) {
        self.time = time
        self.timer = timer
    }

    deinit {
        for entry in allEntries { entry.end() }
    }

    /// Returns the value for `key`: one that is kept, that of the request in progress, or that of a new `request`.
    ///
    /// - Parameter request: Runs at once, on this thread, if there is neither. What it throws is the failure. It must
    ///   not wait for the value of the same `key`, which would be its own, neither now nor later, nor by way of other
    ///   keys: such a cycle fails with ``DeferredError/cycle``.
    public func value(
        for key: Key, _ request: () throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        let hash = key.hashValue
        while true {
            let bucket = buckets.withLock { $0[hash] } ?? []
            guard let entry = bucket.first(where: { $0.key == key }) else {
                let (source, resolver) = Deferred<Value>.withResolver(fileID: fileID, line: line)
                let entry = Entry(key, hash)
                let site = DeferredDiagnostic.Location(.mapResult, fileID, line)
                let shared: Deferred<Value> = source.attach(nil, site) { [self] input in
                    finish(entry, input.result())
                    return input.copy()
                }
                let keeper: Deferred<Value> = shared.attach(nil, site.of(.hidden)) { $0.copy() }
                for part in [shared, keeper] { part.disownFailure() }
                entry.share(shared, keeper)
                guard insert(entry, ifUnchanged: bucket) else {
                    entry.end()
                    continue
                }
                let first = consumer(of: entry, shared, fileID, line)
                let made = Deferred<Value>(following: request)
                resolver.follow(orCancel: made)
                // Marks a failure of `made` as handled: where the request waits for its own value, `made` fails with
                // `.cycle`, and so does `source`.
                _ = made.currentResult
                return first
            }
            let state = entry.join()
            if let kept = state.kept { return .resolved(kept.value, fileID: fileID, line: line) }
            if let shared = state.shared { return consumer(of: entry, shared, fileID, line) }
            remove(entry)
        }
    }

    /// Returns the value for `key`, with an asynchronous `request`, which runs in a Task. Otherwise behaves as
    /// ``value(for:_:fileID:line:)``.
    public func asyncValue(
        for key: Key, _ request: @escaping @Sendable () async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        value(
            for: key, { Deferred(operation: request, fileID: fileID, line: line) }, fileID: fileID, line: line
        )
    }

    /// Removes the value kept for `key`. A request in progress continues for those who share it, but is no longer
    /// shared, and its value is not kept.
    public func forget(_ key: Key) {
        let hash = key.hashValue
        let bucket = buckets.withLock { $0[hash] } ?? []
        guard let entry = bucket.first(where: { $0.key == key }) else { return }
        remove(entry)
        entry.forget()
    }

    /// Removes all values that are kept; as ``forget(_:)`` for each key.
    public func forgetAll() {
        for entry in allEntries {
            remove(entry)
            entry.forget()
        }
    }

    /// How many requests are in progress.
    public var inProgressCount: Int { allEntries.count { $0.isInProgress } }

    /// How many values are kept.
    public var keptCount: Int { allEntries.count { $0.isKept } }

    private var allEntries: [Entry] { buckets.withLock { $0 }.values.flatMap { $0 } }

    /// Adds a new entry unless its bucket has changed since it was read.
    private func insert(_ entry: Entry, ifUnchanged bucket: [Entry]) -> Bool {
        buckets.withLock { buckets in
            let present = buckets[entry.hash] ?? []
            guard present.elementsEqual(bucket, by: ===) else { return false }
            buckets[entry.hash] = present + [entry]
            return true
        }
    }

    /// Removes an entry, which the caller retains, if it is still there.
    private func remove(_ entry: Entry) {
        buckets.withLock { buckets in
            guard let bucket = buckets[entry.hash] else { return }
            let rest = bucket.filter { $0 !== entry }
            buckets[entry.hash] = rest.isEmpty ? nil : rest
        }
    }

    /// Returns a Deferred for one caller. It follows the request, so that a cycle through the cache is found (L5).
    ///
    /// Its canceller completes nothing. On the last cancel it makes the Deferred follow `keeper`, so that the request
    /// is cancelled with all that the same call cancels, before any of that ends (C7). A value with which the request
    /// completes itself then reaches no caller.
    private func consumer(
        of entry: Entry, _ shared: Deferred<Value>, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<Value> {
        let isCancelled = SpinLocked(false)
        let (deferred, resolver) = Deferred<Value>.withResolver(
            canceller: { [self] own in
                isCancelled.withLock { $0 = true }
                guard let keeper = entry.leave() else { return }
                remove(entry)
                own.follow(keeper)
            }, fileID: fileID, line: line)
        deferred.setIsWaiting { true }
        resolver.follow(shared)
        return deferred.attach(nil, DeferredDiagnostic.Location(.mapResult, fileID, line)) { input in
            isCancelled.withLock { $0 } ? .failure(CancellationError()) : input.copy()
        }
    }

    private func finish(_ entry: Entry, _ result: Result<Value, any Error>) {
        let call = DelayedCall()
        if case .success(let value) = result, time > .zero, entry.keep(value, call) {
            call.set(time, timer: timer) { [weak self] in
                entry.end()
                self?.remove(entry)
            }
        } else {
            entry.end()
            remove(entry)
        }
    }
}

/// A request of a ``DeferredCache`` that is in progress, or the value that it returned.
private final class CacheEntry<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Without a request and a value, the entry has ended.
    struct State: Sendable {
        /// How many callers asked for the request in progress and have not cancelled.
        var consumers = 0
        /// What their Deferreds follow, before which the cache has recorded the outcome; nil if no further caller
        /// shares the request.
        var shared: Deferred<Value>?
        /// A consumer of `shared`, too, so that nothing but the count decides when the request is cancelled: with the
        /// keeper. Nil unless the request is in progress.
        var keeper: Deferred<Value>?
        var kept: (value: Value, timer: DelayedCall)?
    }

    let key: Key
    let hash: Int
    private let state = SpinLocked(State())

    init(_ key: Key, _ hash: Int) {
        self.key = key
        self.hash = hash
    }

    var isInProgress: Bool { state.withLock { $0.keeper != nil } }
    var isKept: Bool { state.withLock { $0.kept != nil } }

    /// Begins the request, which one caller asked for and others may share.
    func share(_ shared: Deferred<Value>, _ keeper: Deferred<Value>) {
        state.withLock { $0 = State(consumers: 1, shared: shared, keeper: keeper) }
    }

    /// Adds a consumer to a request that may be shared. Returns the state.
    func join() -> State {
        state.withLock { state in
            if state.shared != nil { state.consumers += 1 }
            return state
        }
    }

    /// Removes a consumer. Returns the keeper if it was the last of a request in progress, which has ended thereby.
    func leave() -> Deferred<Value>? {
        let before = state.exchange { state in
            if state.keeper == nil { return state }
            var state = state
            state.consumers -= 1
            return state.consumers > 0 ? state : State()
        }
        return before.consumers == 1 ? before.keeper : nil
    }

    /// Keeps the value of a request that may be shared. Returns false for another.
    func keep(_ value: Value, _ timer: DelayedCall) -> Bool {
        state.exchange { $0.shared == nil ? $0 : State(kept: (value, timer)) }.shared != nil
    }

    /// Releases a value that is kept; a request in progress is shared no more, and its value not kept.
    func forget() {
        end { $0.keeper == nil ? State() : State(consumers: $0.consumers, keeper: $0.keeper) }
    }

    /// Ends the entry.
    func end() { end { _ in State() } }

    private func end(_ after: (State) -> State) { state.exchange(after).kept?.timer.stop() }
}
