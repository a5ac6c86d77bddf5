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
/// request, and is not kept, unless `keepingFailuresFor:` says so. Safe from any thread. A key's `==` and `hash` run
/// under no lock.
///
/// With `maximumCount:`, what was least recently used is released when there is more. With `refreshesAfter:`, a value
/// that is older is returned at once, and the call that asks for it makes a request that renews it: one, however many
/// ask. If that fails, the older value is kept until it expires, and the failure is reported as unhandled, with the
/// place of the call that made the request, unless it is a `CancellationError`, or callers wait for the request, since
/// the older value has expired. To see it elsewhere, attach an `always` to the request. The cache itself waits for such a
/// request: only ``forget(_:)`` cancels it, and a `timeout` in the request ends one that hangs.
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

    private let table = SpinLocked(CacheTable<Key, Value>())
    private let maximumCount: Int?
    private let refreshTime: Duration?
    /// How long values are kept; nil for no limit.
    private let time: Duration?
    private let failureTime: Duration
    private let timer: any DelayedDispatcher

    /// Creates an empty cache.
    ///
    /// ```swift
    /// let shared = DeferredCache<String, Page>()                                     // shares requests only
    /// let kept = DeferredCache<String, Page>(keepingFor: .seconds(60), timer: .main) // forgets on the main queue
    /// let recent = DeferredCache<String, Page>(maximumCount: 100)                    // the 100 used last
    /// let fresh = DeferredCache<String, Page>(refreshesAfter: .seconds(60), keepingFor: .seconds(3600))
    /// ```
    ///
    /// - Parameters:
    ///   - maximumCount: How many values, failures and requests in progress there may be; nil for no limit. When there
    ///     are more, those that were asked for, or arrived, longest ago are released. A request in progress counts, and
    ///     is never thrown away: its value is not kept if there is no room. With 0 requests are only shared; with less,
    ///     every use fails with ``DeferredError/invalidArgument(_:)``.
    ///   - refreshTime: After how long a value is renewed by the next call that asks for it; nil for never. Zero or less:
    ///     by every call, unless a request is in progress.
    ///   - time: How long a value is kept. Zero or less: not at all, requests are only shared. Nil: without a limit if
    ///     `maximumCount` or `refreshesAfter` is given, and otherwise not at all.
    ///   - failureTime: How long a failure is kept, other than a `CancellationError`: those who ask in that time receive
    ///     it, and make no request. A value whose renewal has failed is not renewed again in that time. Zero or less: not
    ///     at all.
    ///   - timer: Measures these times.
    public init(
        maximumCount: Int? = nil, refreshesAfter refreshTime: Duration? = nil,
        keepingFor time: Duration? = nil, keepingFailuresFor failureTime: Duration = .zero,
        timer: any DelayedDispatcher = DispatchQueue.global()
    ) {
        self.maximumCount = maximumCount
        self.refreshTime = refreshTime
        let isLimited = maximumCount == nil && refreshTime == nil
        self.time = time ?? (isLimited ? .zero : nil)
        self.failureTime = failureTime
        self.timer = timer
    }

    deinit {
        for entry in allEntries { entry.end() }
    }

    /// Returns the value for `key`: one that is kept, that of the request in progress, or that of a new `request`.
    ///
    /// - Parameter request: Runs at once, on this thread, if there is neither, or if the value is to be renewed. What it
    ///   throws is the failure. It must not wait for the value of the same `key`, which would be its own.
    public func value(
        for key: Key, _ request: () throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        if let maximumCount, maximumCount < 0 {
            let reason = "a cache's maximumCount must not be negative, is \(maximumCount)"
            return .rejected(DeferredError.invalidArgument(reason), fileID: fileID, line: line)
        }
        let hash = key.hashValue
        while true {
            let bucket = table.withLock { $0.bucket(hash) }
            guard let entry = bucket.first(where: { $0.key == key }) else {
                let origin = CacheCallers.origin
                let entry = Entry(key, hash, in: self)
                let (made, resolver) = makeRequest(0, of: entry, fileID, line)
                entry.begin(made, origin)
                guard table.withLock({ $0.insert(entry, ifUnchanged: bucket) }) else {
                    entry.end()
                    continue
                }
                trim()
                let first = consumer(of: entry, made.outcome, origin, fileID, line)
                start(request, of: entry, resolver)
                return first
            }
            switch entry.lookUp() {
            case .nothing: break
            case .kept(let result):
                noteUse(of: entry)
                return Deferred(result, fileID: fileID, line: line)
            case .due(let result, let renewal):
                noteUse(of: entry)
                let (made, resolver) = makeRequest(renewal, of: entry, fileID, line)
                if entry.renew(made) == .begins { start(request, of: entry, resolver) }
                return Deferred(result, fileID: fileID, line: line)
            }
            let origin = CacheCallers.origin
            switch entry.join(origin) {
            case .kept(let result): return Deferred(result, fileID: fileID, line: line)
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

    /// Removes what is kept for `key`. A request in progress continues for those who share it, but is no longer
    /// shared, and its value is not kept. One that renews a value, and that nobody else waits for, is cancelled.
    public func forget(_ key: Key) {
        let hash = key.hashValue
        let bucket = table.withLock { $0.bucket(hash) }
        if let entry = bucket.first(where: { $0.key == key }) { forget(entry) }
    }

    /// Removes all that is kept; as ``forget(_:)`` for each key.
    ///
    /// - Complexity: O(*n*), where *n* is the number of keys.
    public func forgetAll() { allEntries.forEach(forget) }

    private func forget(_ entry: Entry) {
        remove(entry)
        switch entry.forget() {
        case .someStay: break
        case .last(let keeper): keeper.cancel()
        case .lastFromOutside(let outcome): outcome.cancel()
        }
    }

    /// How many requests are in progress.
    ///
    /// - Complexity: O(*n*), where *n* is the number of keys.
    public var inProgressCount: Int { allEntries.count { $0.isInProgress } }

    /// How many values, and failures, are kept.
    ///
    /// - Complexity: O(*n*), where *n* is the number of keys.
    public var keptCount: Int { allEntries.count { $0.isKept } }

    private var allEntries: [Entry] { table.withLock { $0.entries } }

    /// Removes an entry, which the caller retains, if it is still there.
    func remove(_ entry: Entry) { table.withLock { $0.remove(entry) } }

    /// Notes that what is kept was used, where that decides what is released.
    private func noteUse(of entry: Entry) {
        if maximumCount != nil { table.withLock { $0.use(entry) } }
    }

    /// Releases what was used least recently, as long as there is too much.
    private func trim() {
        guard let maximumCount else { return }
        while let entry = table.withLock({ $0.beginEviction(beyond: maximumCount) }) {
            switch entry.evict() {
            case .isInProgress: table.withLock { $0.endEviction(of: entry, hasEnded: false) }
            case .ended: table.withLock { $0.endEviction(of: entry, hasEnded: true) }
            }
        }
    }

    /// Returns a request that is yet to be started, and what completes it.
    private func makeRequest(
        _ number: Int, of entry: Entry, _ fileID: StaticString, _ line: UInt
    ) -> (Entry.Request, Deferred<Value>.Resolver) {
        let (source, resolver) = Deferred<Value>.withResolver(fileID: fileID, line: line)
        let site = DeferredDiagnostic.Location(.mapResult, fileID, line)
        let shared: Deferred<Value> = source.attach(nil, site) { [self] input in
            let (error, keeps) = finish(entry, number, input.resultPassedOn())
            // A value that is kept is received (V1).
            if keeps { _ = input.result() as Result<Value, any Error> }
            if let error, !input.isOfCancelledWork {
                DeferredDiagnostics.report(.unhandledFailure(error, made: .init(fileID: fileID, line: line)))
            }
            return input.copy()
        }
        let keeper: Deferred<Value> = shared.attach(nil, site.of(.hidden)) { $0.copy() }
        for part in [shared, keeper] { part.disownFailure() }
        return (.init(number: number, outcome: shared, keeper: keeper), resolver)
    }

    private func start(
        _ request: () throws -> Deferred<Value>, of entry: Entry, _ resolver: Deferred<Value>.Resolver
    ) {
        let made = CacheCallers.inside(entry) { Deferred<Value>(following: request) }
        resolver.follow(orCancel: made)
        // Marks a failure of `made` as handled: where the request waits for its own value, `made` fails with
        // `.cycle`, and so does `source`.
        _ = made.link.observedError
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
                switch entry.leave(shared, origin) {
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

    /// Records the outcome of a request. Returns a failure that nobody sees.
    private func finish(
        _ entry: Entry, _ number: Int, _ result: Result<Value, any Error>
    ) -> (unseen: (any Error)?, keeps: Bool) {
        var keeps = false
        let (isKept, error): (Bool, (any Error)?) =
            switch result {
            case .success: (time ?? .seconds(1) > .zero, nil)
            case .failure(let error): (failureTime > .zero && !(error is CancellationError), error)
            }
        let finish = entry.finish(number, result, isKept: isKept)
        switch finish.ending {
        case .obsolete: return (nil, false)
        case .ended: remove(entry)
        case .keepsOlder(let older):
            if isKept { renew(older, of: entry, after: failureTime) }
        case .keeps(let kept):
            keeps = true
            if let time = error == nil ? time : failureTime {
                kept.expiry.set(time, timer: timer) { [weak self, expiry = kept.expiry] in
                    if case .ended = entry.expire(expiry) { self?.remove(entry) }
                }
            }
            if error == nil, let refreshTime { renew(kept, of: entry, after: refreshTime) }
        }
        if maximumCount != nil {
            table.withLock { $0.use(entry) }
            trim()
        }
        return (finish.isUnseen && !(error is CancellationError) ? error : nil, keeps)
    }

    private func renew(_ kept: Entry.Kept, of entry: Entry, after time: Duration) {
        if time <= .zero { return entry.setDue(kept.expiry) }
        kept.renewal.set(time, timer: timer) { [expiry = kept.expiry] in entry.setDue(expiry) }
    }
}
