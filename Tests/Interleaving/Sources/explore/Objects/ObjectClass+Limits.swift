import Deferred

extension ObjectClass {
    // MARK: Q1, Q2: a semaphore with permits of several units, and one whose limit changes

    static let units = limited(
        "units", ["acquire", "acquireTwo", "tryAcquireTwo", "release", "releaseFirst", "cancel"])
    static let limits = limited(
        "changingLimit", ["acquire", "acquireTwo", "lower", "raise", "reject", "releaseFirst", "cancel"])

    private static func limited(_ name: String, _ calls: [String]) -> ObjectClass {
        ObjectClass(
            name: name, calls: calls,
            // Each changes something, and then grants what is free. Of two threads that release the first permit, one does
            // it, and the other does not wait for that.
            steps: [
                "releaseFirst": ["claim", "releaseFirst", "grant"], "acquire": ["acquire", "grant"],
                "acquireTwo": ["acquireTwo", "grant"], "release": ["release", "grant"],
                "lower": ["lower", "grant"], "raise": ["raise", "grant"], "cancel": ["cancel", "grant"],
            ],
            make: { semaphoreRun() }, specify: { LimitSpecification().run })
    }

    /// A semaphore with two units, one of which is taken.
    static func semaphoreRun() -> ObjectRun {
        let semaphore = DeferredSemaphore(2)
        let first = semaphore.tryAcquire()
        let calls = Calls<DeferredSemaphore.Permit>()
        func tryAcquire(_ units: Int, _ thread: Int, _ number: Int) {
            if let permit = semaphore.tryAcquire(units: units) {
                calls.begin(thread, number, .resolved(permit))
            } else {
                calls.results[number] = "refused"
            }
        }
        return ObjectRun { call, thread, number in
            switch call {
            case "acquire": calls.begin(thread, number, semaphore.acquire())
            case "acquireTwo": calls.begin(thread, number, semaphore.acquire(units: 2))
            case "tryAcquire": tryAcquire(1, thread, number)
            case "tryAcquireTwo": tryAcquire(2, thread, number)
            case "release":
                guard let permit = calls.value(thread) else { return calls.results[number] = "none" }
                calls.results[calls.last[thread]!] = "released"
                permit.release()
            case "releaseFirst": first?.release()
            case "lower": semaphore.limit = 1
            case "raise": semaphore.limit = 3
            case "reject": semaphore.rejectWaiting(with: E1())
            default: calls.cancel(thread)
            }
        } results: {
            calls.ends { _ in "granted" }.map {
                $0.contains("invalid") ? $0.prefix { $0 != " " } + " refused" : $0
            } + [
                "limit \(semaphore.limit), available \(semaphore.availableCount), waiting \(semaphore.waitingCount)"
            ]
        }
    }

    // MARK: Q6: the latest call, which waits for its pause, and may be flushed

    static let flushing = ObjectClass(
        name: "flushing", calls: ["run", "flush", "expire", "cancel", "cancelLatest"],
        // A call sets its timer after it has replaced the one before. A call may come when the body of the one before is about
        // to run.
        steps: ["run": ["run", "arm"], "expire": ["takeArmed", "deliver"], "flush": ["take", "deliver"]],
        make: {
            let delays = Delays()
            let latest = DeferredLatest(debounce: .seconds(1), timer: delays)
            let calls = Calls<Int>()
            return ObjectRun { call, thread, number in
                switch call {
                case "run": calls.begin(thread, number, latest.syncRun { number })
                case "flush": latest.flush()
                case "expire": delays.expire()
                case "cancel": calls.cancel(thread)
                default: latest.cancel()
                }
            } results: {
                calls.ends { "\($0)" }
            } end: {
                latest.cancel()
            }
        },
        specify: {
            let state = WaitingCalls()
            // The call that waits, that whose body is about to run, and who runs it.
            var (waiting, begun): (Int?, Int?)
            var taken: [Int: Int] = [:]
            var armed: Set<Int> = []
            func end(_ call: Int?, _ result: (Int) -> String) {
                guard let call, call == waiting || call == begun else { return }
                state.results[call] = result(call)
                if call == waiting { waiting = nil } else { begun = nil }
            }
            func cancelAll() { for call in [waiting, begun] { end(call) { _ in "cancelled" } } }
            func take(_ number: Int) { (taken[number], begun, waiting) = (waiting, waiting, nil) }
            return ObjectRun { call, thread, number in
                switch call {
                case "run":
                    cancelAll()
                    state.begin(thread, number)
                    waiting = number
                case "arm": armed.insert(number)
                case "takeArmed": if let waiting, armed.contains(waiting) { take(number) }
                case "take": if waiting != nil { take(number) }
                case "deliver": end(taken[number]) { "\($0)" }
                case "cancel": end(state.last[thread]) { _ in "cancelled" }
                default: cancelAll()
                }
            } results: {
                state.ends()
            }
        })

    // MARK: Q7: a cache whose value is renewed by each call that finds no request in progress

    static let renewingCache = ObjectClass(
        name: "renewingCache", calls: ["value", "resolve", "cancel", "forget"],
        // A renewal is claimed, and then begun.
        steps: ["value": ["value", "renew"]],
        make: { cacheRun(DeferredCache(refreshesAfter: .zero, timer: Delays())) },
        specify: { RenewingSpecification().run })
}

/// Q1, Q2, with units and a limit that changes.
final class LimitSpecification {
    private let state = WaitingCalls()
    private var (limit, used) = (2, 1)
    private var units: [Int: Int] = [:]
    private var releaser: Int?

    var run: ObjectRun {
        ObjectRun { [self] call, thread, number in
            perform(call, thread, number)
        } results: { [self] in
            state.ends() + [
                "limit \(limit), available \(max(0, limit - used)), waiting \(state.waiting.count)"
            ]
        }
    }

    private func perform(_ call: String, _ thread: Int, _ number: Int) {
        switch call {
        case "acquire", "acquireTwo":
            units[number] = call == "acquire" ? 1 : 2
            let isFirst = state.waiting.isEmpty
            state.begin(thread, number)
            refuse()
            if isFirst { grant() }
        case "tryAcquireTwo":
            guard limit - used >= 2, state.waiting.isEmpty else { return state.results[number] = "refused" }
            (units[number], state.last[thread], state.results[number]) = (2, number, "granted")
            used += 2
        case "release":
            guard let last = state.last[thread], state.results[last] == "granted" else {
                return state.results[number] = "none"
            }
            state.results[last] = "released"
            used -= units[last]!
        case "claim": releaser = releaser ?? number
        case "releaseFirst": if releaser == number { used -= 1 }
        case "grant": grant()
        case "lower", "raise":
            limit = call == "lower" ? 1 : 3
            refuse()
        case "reject": fail("E1") { _ in true }
        default: state.cancel(thread)
        }
    }

    private func refuse() { fail("refused") { self.units[$0]! > self.limit } }

    private func fail(_ result: String, where fails: (Int) -> Bool) {
        for call in state.waiting where fails(call) { state.results[call] = result }
        state.waiting.removeAll(where: fails)
    }

    private func grant() {
        while let first = state.waiting.first, units[first]! <= limit - used {
            used += units[first]!
            state.results[state.waiting.removeFirst()] = "granted"
        }
    }
}

/// Q7, with one request at a time, which renews a value that is kept.
final class RenewingSpecification {
    private let state = WaitingCalls()
    private var requests: [Int: String] = [:]
    /// The calls that wait for a request, which is the one of the first of them.
    private var consumers: [Int: [Int]] = [:]
    private var shared: Int?
    private var kept: Int?
    private var renewal: Int?
    /// The call that is about to renew the value that is kept.
    private var claimed: Int?

    var run: ObjectRun {
        ObjectRun { [self] call, thread, number in
            perform(call, thread, number)
        } results: { [self] in
            let ends = requests.sorted { $0.key < $1.key }.map(\.value)
            let count = (shared == nil ? 0 : 1) + (renewal == nil ? 0 : 1)
            return state.ends() + ends + ["\(count), \(kept == nil ? 0 : 1)"]
        }
    }

    private func perform(_ call: String, _ thread: Int, _ number: Int) {
        let last = state.last[thread]
        switch call {
        case "value":
            requests[number] = "pending"
            if let kept {
                (state.last[thread], state.results[number]) = (number, "\(kept)")
                if renewal == nil, claimed == nil { claimed = number }
                return
            }
            state.begin(thread, number)
            if shared == nil { shared = number }
            consumers[shared!, default: []].append(number)
        case "renew": if claimed == number { (renewal, claimed) = (number, nil) }
        case "resolve":
            guard let last, requests[last] == "pending" else { return }
            requests[last] = "\(last)"
            if renewal == last { (renewal, kept) = (nil, last) }
            guard let served = consumers.removeValue(forKey: last) else { return }
            for consumer in served { state.results[consumer] = "\(last)" }
            state.waiting.removeAll { served.contains($0) }
            if shared == last { (shared, kept) = (nil, last) }
        case "cancel":
            guard let last, state.cancel(thread),
                let request = consumers.first(where: { $0.value.contains(last) })?.key
            else { return }
            consumers[request]!.removeAll { $0 == last }
            guard consumers[request]!.isEmpty else { return }
            (consumers[request], requests[request]) = (nil, "cancelled")
            if shared == request { shared = nil }
        default:
            if let renewal { requests[renewal] = "cancelled" }
            (shared, kept, renewal, claimed) = (nil, nil, nil, nil)
        }
    }
}
