/// A request of a ``DeferredCache``, whatever its types, as one that waits for other requests.
protocol CacheRequest: AnyObject, Sendable {
    /// The requests from inside of which it was asked for, if it is in progress and nobody else asked for it; otherwise
    /// nil.
    var callingRequestsOnly: [any CacheRequest]? { get }
    /// Continues for those who share it, and is shared no more. Does nothing unless it is in progress.
    func endSharing()
}

extension CacheRequest {
    /// Returns this request and all that wait for it, if each is in progress and waits only for others of them; nil if
    /// somebody else waits for one.
    ///
    /// Takes time for the requests between this one and a caller from outside of them. The states are read at different
    /// moments: of two threads whose callers leave, at least one sees that both have left, since each reads after its
    /// own has.
    func requestsWaitingOnlyForEachOther() -> [any CacheRequest]? {
        guard let callers = callingRequestsOnly else { return nil }
        var found: [ObjectIdentifier: any CacheRequest] = [ObjectIdentifier(self): self]
        var rest = [callers.makeIterator()]
        while var callers = rest.popLast() {
            guard let caller = callers.next() else { continue }
            rest.append(callers)
            guard found.updateValue(caller, forKey: ObjectIdentifier(caller)) == nil else { continue }
            guard let further = caller.callingRequestsOnly else { return nil }
            rest.append(further.makeIterator())
        }
        return Array(found.values)
    }
}

/// Who asked for a request and has not cancelled: how many from outside of any request, and how many from inside of
/// each other one.
///
/// A request may wait for its own value by way of a Task that awaits it, directly or through other requests. That cycle
/// cannot be found, and its own calls would keep it in progress for ever. So they are counted apart. A request
/// continues while somebody from outside waits for it, or for a request from inside of which it was asked for, and so
/// on. After the last cancel, those that wait only for each other are cancelled.
///
/// Whether a call is made inside a request is known by a task-local value. A Task that was started there inherits it,
/// but the request need not wait for that: so the call does not fail with `.cycle`. When a request has ended, calls
/// from inside of it count as those from outside.
struct CacheCallers: Sendable {
    private var outside = 0
    private var inside: [ObjectIdentifier: (request: any CacheRequest, count: Int)] = [:]

    init() {}

    init(_ origin: (any CacheRequest)?) { add(origin) }

    var isOneFromOutside: Bool { outside == 1 && inside.isEmpty }

    var isEmpty: Bool { outside == 0 && inside.isEmpty }

    /// The requests from inside of which all calls came; nil if others did. (Made under the lock of the entry, so that
    /// nothing reads the dictionary while it is changed in place.)
    var requestsOnly: [any CacheRequest]? { outside == 0 ? inside.values.map(\.request) : nil }
    /// Whether all calls came from inside of requests.
    var areRequestsOnly: Bool { outside == 0 }

    mutating func add(_ origin: (any CacheRequest)?) {
        guard let origin else { return outside += 1 }
        inside[ObjectIdentifier(origin), default: (origin, 0)].count += 1
    }

    mutating func remove(_ origin: (any CacheRequest)?) {
        guard let origin else { return outside -= 1 }
        let id = ObjectIdentifier(origin)
        inside[id]?.count -= 1
        if inside[id]?.count == 0 { inside[id] = nil }
    }

    // MARK: Calls from inside of requests

    /// The request from inside of which this is called. Weak: a Task started there may run as long as the program.
    @TaskLocal private static var current: Origin?

    private struct Origin: Sendable {
        private(set) weak var request: (any CacheRequest)?
    }

    static var origin: (any CacheRequest)? { current?.request }

    /// Runs `body`, so that what it calls, also in Tasks that it starts, is inside of `request`.
    static func inside<R>(_ request: any CacheRequest, _ body: () throws -> R) rethrows -> R {
        try $current.withValue(Origin(request: request), operation: body)
    }
}
