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
///
/// A request must not wait for the value of its own key, neither now nor later, nor by way of other keys. A cycle of
/// callbacks and nested Deferreds fails with ``DeferredError/cycle``. In a Task that awaits the value, a cycle cannot
/// be told from a Task that only shares the request: it stays pending. Calls from inside of requests do not keep it:
/// the last cancel of a caller from outside ends it, and the keys are free. Inside is what a request's closure calls,
/// and the Tasks that it starts; not callbacks that run later, nor `Task.detached`, whose calls count as those from
/// outside.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public final class DeferredCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Entry = CacheEntry<Key, Value>

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
    ///   not wait for the value of the same `key`, which would be its own.
    public func value(
        for key: Key, _ request: () throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        let hash = key.hashValue
        while true {
            let bucket = buckets.withLock { $0[hash] } ?? []
            guard let entry = bucket.first(where: { $0.key == key }) else {
                let origin = CacheCallers.origin
                let (source, resolver) = Deferred<Value>.withResolver(fileID: fileID, line: line)
                let entry = Entry(key, hash, in: self)
                let site = DeferredDiagnostic.Location(.mapResult, fileID, line)
                let shared: Deferred<Value> = source.attach(nil, site) { [self] input in
                    finish(entry, input.result())
                    return input.copy()
                }
                let keeper: Deferred<Value> = shared.attach(nil, site.of(.hidden)) { $0.copy() }
                for part in [shared, keeper] { part.disownFailure() }
                entry.begin(.init(outcome: shared, keeper: keeper), origin)
                guard insert(entry, ifUnchanged: bucket) else {
                    entry.end()
                    continue
                }
                let first = consumer(of: entry, shared, origin, fileID, line)
                let made = CacheCallers.inside(entry) { Deferred<Value>(following: request) }
                resolver.follow(orCancel: made)
                // Marks a failure of `made` as handled: where the request waits for its own value, `made` fails with
                // `.cycle`, and so does `source`.
                _ = made.currentResult
                return first
            }
            if let value = entry.keptValue { return .resolved(value, fileID: fileID, line: line) }
            let origin = CacheCallers.origin
            switch entry.join(origin) {
            case .kept(let value): return .resolved(value, fileID: fileID, line: line)
            case .shares(let shared): return consumer(of: entry, shared, origin, fileID, line)
            case .hasEnded: remove(entry)
            }
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
    ///
    /// - Complexity: O(*n*), where *n* is the number of keys.
    public func forgetAll() {
        for entry in allEntries {
            remove(entry)
            entry.forget()
        }
    }

    /// How many requests are in progress.
    ///
    /// - Complexity: O(*n*), where *n* is the number of keys.
    public var inProgressCount: Int { allEntries.count { $0.isInProgress } }

    /// How many values are kept.
    ///
    /// - Complexity: O(*n*), where *n* is the number of keys.
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
    func remove(_ entry: Entry) {
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
        of entry: Entry, _ shared: Deferred<Value>, _ origin: (any CacheRequest)?, _ fileID: StaticString,
        _ line: UInt
    ) -> Deferred<Value> {
        let isCancelled = SpinLocked(false)
        let (deferred, resolver) = Deferred<Value>.withResolver(
            canceller: { [self] own in
                isCancelled.withLock { $0 = true }
                switch entry.leave(origin) {
                case .someStay: break
                case .last(let keeper):
                    remove(entry)
                    own.follow(keeper)
                case .lastFromOutside(let outcome):
                    remove(entry)
                    outcome.cancel()
                }
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
