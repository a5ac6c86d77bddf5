import Deferred

/// Q6, Q7: caches, and the latest call. The body of a call returns a Deferred of its own, which its thread resolves.
extension ObjectClass {
    static let cache = cache("cache", keeps: false)
    static let keepingCache = cache("keepingCache", keeps: true)

    /// A cache with calls for one key, each of which would begin a request of its own.
    ///
    /// - Parameter delays: Those of a cache that keeps; nil for one that renews, whose requests are then ended with the run.
    static func cacheRun(_ cache: DeferredCache<Int, Int>, _ delays: Delays? = nil) -> ObjectRun {
        let calls = Calls<Int>()
        return ObjectRun { call, thread, number in
            switch call {
            case "value":
                let request = D()
                calls.inner[number] = request
                calls.begin(thread, number, cache.value(for: 1) { request })
            case "resolve": calls.resolveInner(thread)
            case "cancel": calls.cancel(thread)
            case "expire": delays?.expire()
            default: cache.forget(1)
            }
        } results: {
            let requests = calls.inner.sorted { $0.key < $1.key }.map { show($0.value.currentResult) }
            return calls.ends { "\($0)" } + requests + ["\(cache.inProgressCount), \(cache.keptCount)"]
        } end: {
            if delays != nil { return }
            cache.forgetAll()
            calls.cancelAll()
        }
    }

    private static func cache(_ name: String, keeps: Bool) -> ObjectClass {
        ObjectClass(
            name: name, calls: ["value", "resolve", "cancel", "forget"] + (keeps ? ["expire"] : []),
            make: {
                let delays = Delays()
                return cacheRun(DeferredCache(keepingFor: keeps ? .seconds(1) : .zero, timer: delays), delays)
            },
            specify: {
                let state = WaitingCalls()
                var requests: [Int: String] = [:]
                /// The calls that wait for a request, which is the one of the first of them.
                var consumers: [Int: [Int]] = [:]
                var shared: Int?
                var kept: Int?
                return ObjectRun { call, thread, number in
                    switch call {
                    case "value":
                        requests[number] = "pending"
                        if let kept {
                            state.last[thread] = number
                            return state.results[number] = "\(kept)"
                        }
                        state.begin(thread, number)
                        if shared == nil { shared = number }
                        consumers[shared!, default: []].append(number)
                    case "resolve":
                        guard let last = state.last[thread], requests[last] == "pending" else { return }
                        requests[last] = "\(last)"
                        guard let served = consumers.removeValue(forKey: last) else { return }
                        for consumer in served { state.results[consumer] = "\(last)" }
                        state.waiting.removeAll { served.contains($0) }
                        if shared == last { (shared, kept) = (nil, keeps ? last : nil) }
                    case "cancel":
                        guard let last = state.last[thread], state.cancel(thread),
                            let request = consumers.first(where: { $0.value.contains(last) })?.key
                        else { return }
                        consumers[request]!.removeAll { $0 == last }
                        guard consumers[request]!.isEmpty else { return }
                        consumers[request] = nil
                        requests[request] = "cancelled"
                        if shared == request { shared = nil }
                    case "expire": kept = nil
                    default: (shared, kept) = (nil, nil)
                    }
                } results: {
                    let ends = requests.sorted { $0.key < $1.key }.map(\.value)
                    return state.ends() + ends + ["\(shared == nil ? 0 : 1), \(kept == nil ? 0 : 1)"]
                }
            })
    }

    static let latest = ObjectClass(
        name: "latest", calls: ["run", "resolve", "cancel", "cancelLatest"],
        make: {
            let latest = DeferredLatest()
            let calls = Calls<Int>()
            return ObjectRun { call, thread, number in
                switch call {
                case "run":
                    let inner = D()
                    calls.inner[number] = inner
                    calls.begin(thread, number, latest.run { inner })
                case "resolve": calls.resolveInner(thread)
                case "cancel": calls.cancel(thread)
                default: latest.cancel()
                }
            } results: {
                calls.ends { "\($0)" }
            }
        },
        specify: {
            let state = WaitingCalls()
            var latest: Int?
            func end(_ call: Int?, _ result: String) {
                if let call, state.isPending(call) { state.results[call] = result }
            }
            return ObjectRun { call, thread, number in
                let last = state.last[thread]
                switch call {
                case "run":
                    end(latest, "cancelled")
                    state.begin(thread, number)
                    latest = number
                case "resolve": end(last, "\(last ?? 0)")
                case "cancel": end(last, "cancelled")
                default: end(latest, "cancelled")
                }
            } results: {
                state.ends()
            }
        })
}
