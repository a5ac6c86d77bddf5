import Deferred

/// An object whose calls are linearizable: its results are those of the same calls one after the other, in an order in
/// which no call comes before one that had returned when it began.
struct ObjectClass: Sendable {
    var name: String
    var calls: [String]
    /// Calls that only one thread of a history makes.
    var exclusive: Set<String> = []
    /// Calls that take place in several steps, between which other calls may come.
    var steps: [String: [String]] = [:]
    /// A step that is left out at first, as the orders with it are many.
    var finerStep: String?
    /// Makes an object, or its specification: what performs a call of a thread, under the call's number, and what
    /// describes the results at the end.
    let make: @Sendable () -> ObjectRun
    let specify: @Sendable () -> ObjectRun

    static let all =
        [semaphore, units, limits, lock, remaining, queue, getting, sending, discarding, workers]
        + [cache, keepingCache, renewingCache, latest, flushing]
        + [idleTimer, repeating, manualClock] + [readersWriter, channel, delegates, releasedDelegates]
        + [streamBuffer, scheduling]

    /// Returns the histories of so many calls.
    func histories(ofSize size: Int) -> [ObjectHistory] {
        let exclusive = Set(calls.indices.filter { self.exclusive.contains(calls[$0]) })
        return Distribution(choiceCount: calls.count, repeatsChoices: true).threads(size)
            .filter { threads in threads.count { !exclusive.isDisjoint(with: $0) } <= 1 }
            .map { ObjectHistory(object: self, threads: $0) }
    }
}

struct ObjectRun {
    let perform: (_ call: String, _ thread: Int, _ number: Int) -> Void
    let results: () -> [String]
    /// Ends what is pending, so that nothing is retained.
    var end: () -> Void = {}
}

/// The results of the calls of a run, or of its specification, by their numbers.
///
/// Sound as `@unchecked Sendable`, as its subclasses: one thread of a run is executed at a time.
class CallTable: @unchecked Sendable {
    var results: [Int: String] = [:]
    /// The last call of each thread that returned a Deferred, or another thing to which later calls refer.
    var last: [Int: Int] = [:]

    func ends() -> [String] { results.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" } }
}

/// The calls of a run so far, and the Deferreds that some of them returned.
final class Calls<Value: Sendable>: CallTable, @unchecked Sendable {
    private var deferreds: [Int: Deferred<Value>] = [:]
    /// The Deferreds that the bodies of calls have returned.
    var inner: [Int: D] = [:]

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

    /// Resolves what the body of the thread's last call has returned.
    func resolveInner(_ thread: Int) {
        if let last = last[thread] { inner[last]?.resolve(last) }
    }

    func cancelAll() {
        for (_, deferred) in deferreds { deferred.cancel() }
        (deferreds, inner) = ([:], [:])
    }

    func ends(_ describe: (Value) -> String) -> [String] {
        for (number, deferred) in deferreds where results[number] == nil {
            results[number] =
                switch deferred.currentResult {
                case .success(let value)?: describe(value)
                case .failure(DeferredError.finished)?: "finished"
                case let result: show(result)
                }
        }
        return ends()
    }
}

/// The calls of a specification so far, some of which wait.
final class WaitingCalls: CallTable, @unchecked Sendable {
    var waiting: [Int] = []

    func begin(_ thread: Int, _ number: Int) {
        last[thread] = number
        waiting.append(number)
        results[number] = "pending"
    }

    /// Returns whether the thread's last call waited.
    @discardableResult
    func cancel(_ thread: Int) -> Bool {
        guard let last = last[thread], let place = waiting.firstIndex(of: last) else { return false }
        waiting.remove(at: place)
        results[last] = "cancelled"
        return true
    }

    /// Whether that call has not ended.
    func isPending(_ number: Int?) -> Bool { number.map { results[$0] == "pending" } ?? false }
}
