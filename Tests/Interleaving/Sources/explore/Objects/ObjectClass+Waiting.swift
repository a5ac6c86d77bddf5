import Deferred
import Interleaving

extension ObjectClass {
    // MARK: Q1, Q2: a semaphore with two permits, one of which is released by any thread

    static let semaphore = ObjectClass(
        name: "semaphore", calls: ["acquire", "tryAcquire", "release", "releaseFirst", "cancel"],
        // Of two threads that release the first permit, one does it, and the other does not wait for that.
        steps: ["releaseFirst": ["claim", "releaseFirst"], "acquire": ["acquire", "grant"]],
        make: { semaphoreRun() },
        specify: {
            let state = WaitingCalls()
            var available = 1
            var releaser: Int?
            /// The calls of `acquire` that are about to grant what is free, also if another thread has released it.
            var acquiring: Set<Int> = []
            func grant() {
                while acquiring.isEmpty, available > 0, !state.waiting.isEmpty {
                    available -= 1
                    state.results[state.waiting.removeFirst()] = "granted"
                }
            }
            return ObjectRun { call, thread, number in
                switch call {
                case "acquire":
                    state.begin(thread, number)
                    acquiring.insert(number)
                case "tryAcquire":
                    guard available > 0, state.waiting.isEmpty else {
                        return state.results[number] = "refused"
                    }
                    available -= 1
                    state.last[thread] = number
                    state.results[number] = "granted"
                case "release":
                    guard let last = state.last[thread], state.results[last] == "granted" else {
                        return state.results[number] = "none"
                    }
                    state.results[last] = "released"
                    available += 1
                case "claim": releaser = releaser ?? number
                case "releaseFirst": if releaser == number { available += 1 }
                case "grant": acquiring.remove(number)
                default: state.cancel(thread)
                }
                grant()
            } results: {
                state.ends() + ["limit 2, available \(available), waiting \(state.waiting.count)"]
            }
        })

    // MARK: Q1-Q4: a queue without a limit, and one with room for one element

    static let queue = queue("queue", size: .max, ["put", "get", "tryGet", "cancel", "finish"])
    static let getting = queue("getting", size: .max, ["put", "get", "cancel"])
    static let sending = queue("sending", size: 1, ["send", "get", "tryGet", "cancel"])
    static let discarding = queue("discarding", size: 1, ["send", "get", "removeAll", "cancel"])

    private static func queue(_ name: String, size: Int, _ calls: [String]) -> ObjectClass {
        ObjectClass(
            name: name, calls: calls,
            // What a call has decided, it does next; others may come between.
            steps: Dictionary(uniqueKeysWithValues: calls.map { ($0, [$0, "end"]) }),
            make: {
                let queue = DeferredQueue<Int>(size: size)
                let getters = Calls<Int>(), senders = Calls<Void>()
                return ObjectRun { call, thread, number in
                    switch call {
                    case "put": getters.results[number] = (try? queue.put(number)) == nil ? "refused" : "put"
                    case "send":
                        senders.begin(thread, number, queue.send(number))
                        getters.last[thread] = nil
                    case "get":
                        getters.begin(thread, number, queue.get())
                        senders.last[thread] = nil
                    case "tryGet": getters.results[number] = queue.tryGet().map { "\($0)" } ?? "none"
                    case "removeAll": getters.results[number] = "\(queue.removeAll())"
                    case "finish": queue.finish()
                    default: senders.last[thread] == nil ? getters.cancel(thread) : senders.cancel(thread)
                    }
                } results: {
                    getters.ends { "\($0)" } + senders.ends { _ in "sent" }
                        + ["\(queue.elements), \(queue.sendingCount), \(queue.waitingCount)"]
                }
            }, specify: { QueueSpecification(size).run })
    }

    // MARK: Q1, Q2: a lock, with bodies that wait for the end of a Deferred

    static let lock = ObjectClass(
        name: "lock", calls: ["run", "end", "cancel"],
        make: {
            let lock = DeferredLock(), log = Log()
            let calls = Calls<Int>()
            return ObjectRun { call, thread, number in
                switch call {
                case "run":
                    let end = D()
                    let run = lock.run { () -> D in
                        log.add("\(number)")
                        calls.inner[number] = end
                        return end
                    }
                    calls.begin(thread, number, run)
                case "end": calls.resolveInner(thread)
                default: calls.cancel(thread)
                }
            } results: {
                calls.ends { "\($0)" } + [log.text, "\(lock.isLocked), \(lock.waitingCount)"]
            } end: {
                calls.cancelAll()
            }
        },
        specify: {
            let state = WaitingCalls()
            var holder: Int?
            var begun: [String] = []
            func begin() {
                guard holder == nil, !state.waiting.isEmpty else { return }
                holder = state.waiting.removeFirst()
                begun.append("\(holder!)")
            }
            return ObjectRun { call, thread, number in
                let last = state.last[thread]
                if call == "run" {
                    state.begin(thread, number)
                } else if call == "cancel", state.cancel(thread) {
                } else if let last, last == holder {
                    state.results[last] = call == "end" ? "\(last)" : "cancelled"
                    holder = nil
                }
                begin()
            } results: {
                state.ends() + [begun.joined(separator: " "), "\(holder != nil), \(state.waiting.count)"]
            }
        })

    // MARK: C7, D3: two lists that cancel what remains, over bodies that wait for one lock

    /// The bodies 0 and 1 are a list's and end at once; 2 and 3 are another's and end with the call `end`.
    static let remaining = ObjectClass(
        name: "remaining", calls: ["release", "end", "cancelFirst", "cancelSecond"],
        // Of two threads that release the lock, one does it, and the other does not wait for that.
        exclusive: ["release", "end"],
        // Each body, and what follows from its end: others may come between.
        steps: [
            "release": ["release", "next", "next", "next", "next", "next", "rest"],
            "end": ["end", "next", "next", "rest"],
            "cancelFirst": ["cancelFirst", "next", "rest"], "cancelSecond": ["cancelSecond", "next", "rest"],
        ],
        finerStep: "next",
        make: {
            let lock = DeferredLock(), log = Log(), gate = D(), end = D()
            let body = { (number: Int, result: D) in
                lock.run { () -> D in
                    log.add("\(number)")
                    return result
                }
            }
            let holder = body(-1, gate)
            let lists = [(0, D.resolved(0)), (2, end)].map { first, result in
                DeferredList([body(first, result), body(first + 1, result)], cancelsRemaining: true).first()
            }
            return ObjectRun { call, _, _ in
                switch call {
                case "release": gate.resolve(0)
                case "end": end.resolve(0)
                case "cancelFirst": lists[0].cancel()
                default: lists[1].cancel()
                }
            } results: {
                lists.map { show($0.currentResult.map { $0.map(\.value) }) } + [log.text]
            } end: {
                holder.cancel()
                lists.forEach { $0.cancel() }
            }
        }, specify: { RemainingSpecification().run })

    // MARK: Q2, Q3: the workers of a queue. How far a worker has come when it is cancelled is left open.

    static let workers = ObjectClass(
        name: "workers", calls: ["put", "run", "cancel", "finish"],
        make: {
            let queue = DeferredQueue<Int>(), log = Log()
            let calls = Calls<Void>()
            return ObjectRun { call, thread, number in
                switch call {
                case "put": calls.results[number] = (try? queue.put(number)) == nil ? "refused" : "put"
                case "run": calls.begin(thread, number, queue.run { log.add("\($0)") })
                case "cancel": calls.cancel(thread)
                default: queue.finish()
                }
            } results: {
                let put = calls.results.filter { $0.value == "put" }.map { "\($0.key)" }
                let ends = calls.ends { _ in "finished" }
                let isForgotten =
                    queue.count > 0 && ends.contains { !$0.hasSuffix("cancelled") && $0.isOfWorker }
                let seen = log.entries + queue.elements.map { "\($0)" }
                return ends.map {
                    $0.replacing("finished", with: "ended").replacing("cancelled", with: "ended")
                }
                    + [put.sorted() == seen.sorted() ? "all there" : "put \(put), seen \(seen)"]
                    + [isForgotten ? "elements are left beside a worker" : "none left"]
            } end: {
                calls.cancelAll()
            }
        },
        specify: {
            let workers = WaitingCalls()
            var isFinished = false
            return ObjectRun { call, thread, number in
                switch call {
                case "put": workers.results[number] = isFinished ? "refused" : "put"
                case "run": workers.begin(thread, number)
                case "cancel": workers.cancel(thread)
                default: isFinished = true
                }
                for worker in isFinished ? workers.waiting : [] { workers.results[worker] = "ended" }
            } results: {
                workers.ends().map { $0.replacing("cancelled", with: "ended") } + ["all there", "none left"]
            }
        })
}

extension String {
    fileprivate var isOfWorker: Bool { hasSuffix("finished") || hasSuffix("pending") }
}
