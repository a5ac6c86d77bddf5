import Deferred
import Multicast

extension ObjectClass {
    static let all = [semaphore, queue, readersWriter]

    // MARK: Q1, Q2: a semaphore with one permit

    private static let semaphore = ObjectClass(
        name: "semaphore", calls: ["acquire", "tryAcquire", "release", "cancel"],
        make: {
            let semaphore = DeferredSemaphore(1)
            let calls = Calls<DeferredSemaphore.Permit>()
            return ObjectRun { call, thread, number in
                switch call {
                case "acquire": calls.begin(thread, number, semaphore.acquire())
                case "tryAcquire":
                    if let permit = semaphore.tryAcquire() {
                        calls.begin(thread, number, .resolved(permit))
                    } else {
                        calls.results[number] = "refused"
                    }
                case "release":
                    guard let permit = calls.value(thread) else { return calls.results[number] = "none" }
                    calls.results[calls.last[thread]!] = "released"
                    permit.release()
                default: calls.cancel(thread)
                }
            } results: {
                calls.ends { _ in "granted" } + [
                    "available \(semaphore.available), waiting \(semaphore.waitingCount)"
                ]
            }
        },
        specify: {
            let state = WaitingCalls()
            var available = 1
            func grant() {
                while available > 0, !state.waiting.isEmpty {
                    available -= 1
                    state.results[state.waiting.removeFirst()] = "granted"
                }
            }
            return ObjectRun { call, thread, number in
                switch call {
                case "acquire":
                    state.begin(thread, number)
                    grant()
                case "tryAcquire":
                    guard available > 0 else { return state.results[number] = "refused" }
                    available -= 1
                    state.last[thread] = number
                    state.results[number] = "granted"
                case "release":
                    guard let last = state.last[thread], state.results[last] == "granted" else {
                        return state.results[number] = "none"
                    }
                    state.results[last] = "released"
                    available += 1
                    grant()
                default: state.cancel(thread)
                }
            } results: {
                state.ends() + ["available \(available), waiting \(state.waiting.count)"]
            }
        })

    // MARK: Q1-Q3: a queue

    private static let queue = ObjectClass(
        name: "queue", calls: ["put", "get", "tryGet", "cancel", "finish"],
        make: {
            let queue = DeferredQueue<Int>()
            let calls = Calls<Int>()
            return ObjectRun { call, thread, number in
                switch call {
                case "put": calls.results[number] = (try? queue.put(number)) == nil ? "refused" : "put"
                case "get": calls.begin(thread, number, queue.get())
                case "tryGet": calls.results[number] = "\(queue.tryGet() ?? -1)"
                case "finish": queue.finish()
                default: calls.cancel(thread)
                }
            } results: {
                calls.ends { "\($0)" } + ["\(queue.count) elements, waiting \(queue.waitingCount)"]
            }
        },
        specify: {
            let state = WaitingCalls()
            var elements: [Int] = []
            var isFinished = false
            func deliver() {
                while !elements.isEmpty, !state.waiting.isEmpty {
                    state.results[state.waiting.removeFirst()] = "\(elements.removeFirst())"
                }
                guard isFinished, elements.isEmpty else { return }
                for number in state.waiting { state.results[number] = "finished" }
                state.waiting = []
            }
            return ObjectRun { call, thread, number in
                switch call {
                case "put":
                    state.results[number] = isFinished ? "refused" : "put"
                    if !isFinished { elements.append(number) }
                case "get": state.begin(thread, number)
                case "tryGet": state.results[number] = "\(elements.isEmpty ? -1 : elements.removeFirst())"
                case "finish": isFinished = true
                default: state.cancel(thread)
                }
                deliver()
            } results: {
                state.ends() + ["\(elements.count) elements, waiting \(state.waiting.count)"]
            }
        })

    // MARK: A readers-writer value

    private static let readersWriter = ObjectClass(
        name: "readersWriter", calls: ["read", "write", "readTwice"],
        make: {
            let value = SynchronizedValue(0)
            let calls = Calls<Int>()
            return ObjectRun { call, _, number in
                switch call {
                case "read": calls.results[number] = "\(value.value)"
                case "write": calls.results[number] = "\(value.write { $0 += 1; return $0 })"
                default: calls.results[number] = "\(value.read { $0 + value.read { $0 } })"
                }
            } results: {
                calls.ends { "\($0)" }
            }
        },
        specify: {
            let state = WaitingCalls()
            var value = 0
            return ObjectRun { call, _, number in
                if call == "write" { value += 1 }
                state.results[number] = "\(call == "readTwice" ? 2 * value : value)"
            } results: {
                state.ends()
            }
        })
}

/// The calls of a run so far, and the Deferreds that some of them returned.
private final class Calls<Value: Sendable> {
    var results: [Int: String] = [:]
    var last: [Int: Int] = [:]
    private var deferreds: [Int: Deferred<Value>] = [:]

    func begin(_ thread: Int, _ number: Int, _ deferred: Deferred<Value>) {
        last[thread] = number
        deferreds[number] = deferred
    }

    /// The value of the thread's last call, if it has one that was not taken.
    func value(_ thread: Int) -> Value? {
        guard let last = last[thread], results[last] == nil else { return nil }
        return try? deferreds[last]?.currentResult?.get()
    }

    func cancel(_ thread: Int) { last[thread].flatMap { deferreds[$0] }?.cancel() }

    func ends(_ describe: (Value) -> String) -> [String] {
        var ends = results
        for (number, deferred) in deferreds where ends[number] == nil {
            ends[number] =
                switch deferred.currentResult {
                case .success(let value)?: describe(value)
                case .failure(DeferredError.finished)?: "finished"
                case let result: show(result)
                }
        }
        return ends.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    }
}

/// The calls of a specification so far, some of which wait.
private final class WaitingCalls {
    var results: [Int: String] = [:]
    var last: [Int: Int] = [:]
    var waiting: [Int] = []

    func begin(_ thread: Int, _ number: Int) {
        last[thread] = number
        waiting.append(number)
        results[number] = "pending"
    }

    func cancel(_ thread: Int) {
        guard let last = last[thread], let place = waiting.firstIndex(of: last) else { return }
        waiting.remove(at: place)
        results[last] = "cancelled"
    }

    func ends() -> [String] { results.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" } }
}
