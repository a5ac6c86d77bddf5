import CInterleaving

/// An object whose calls are linearizable: its results are those of the same calls one after the other, in an order in
/// which no call comes before one that had returned when it began.
struct ObjectClass: Sendable {
    let name: String
    let calls: [String]
    /// Makes an object, or its specification: what performs a call of a thread, under the call's number, and what
    /// describes the results at the end.
    let make: @Sendable () -> ObjectRun
    let specify: @Sendable () -> ObjectRun
}

struct ObjectRun {
    let perform: (_ call: String, _ thread: Int, _ number: Int) -> Void
    let results: () -> [String]
}

/// Calls of an object by several threads.
struct ObjectHistory: CustomStringConvertible {
    let object: ObjectClass
    let threads: [[Int]]

    var description: String {
        threads.enumerated().map { thread, calls in
            "  thread \(thread): \(calls.map { object.calls[$0] }.joined(separator: "; "))"
        }.joined(separator: "\n")
    }

    /// Runs all schedules, and returns a description of one that no order of the calls explains.
    func judged(_ options: SearchOptions) -> (Judgement, violation: String?) {
        let permitted = sequentialResults()
        var judgement = Judgement()
        var violation: String?
        (judgement.schedules, judgement.isCutOff) = options.forEachSchedule {
            let (results, order, status) = run()
            if status == IL_REDUNDANT { return true }
            let isPermitted =
                status == IL_ENDED && permitted[results]?.contains { order.isContained(in: $0) } ?? false
            if violation == nil, !isPermitted || il_failure() != nil {
                violation = "schedule \(String(cString: il_schedule())): \(results)"
                violation! += il_failure().map { " " + String(cString: $0) } ?? ""
                violation! +=
                    "\npermitted: \(permitted.keys.map { "\($0)" }.sorted().joined(separator: "\n           "))"
            }
            return false
        }
        return (judgement, violation)
    }

    private func run() -> (results: [String], order: RealTimeOrder, status: Int) {
        var order = RealTimeOrder()
        let subject = object.make()
        let status = withUnsafeMutablePointer(to: &order) { order in
            Search.runThreads(
                threads.enumerated().map { thread, calls in
                    {
                        for (index, call) in calls.enumerated() {
                            order.pointee.begin(thread, index)
                            subject.perform(object.calls[call], thread, 10 * thread + index)
                            order.pointee.end(thread, index)
                        }
                    }
                })
        }
        return (status == IL_ENDED ? subject.results() : ["no thread can go on"], order, status)
    }

    /// Returns the results of all orders of the calls, each with those orders.
    private func sequentialResults() -> [[String]: [RealTimeOrder]] {
        var results: [[String]: [RealTimeOrder]] = [:]
        for merged in merges(threads.map { $0.count }) {
            var order = RealTimeOrder()
            var next = Array(repeating: 0, count: threads.count)
            let specification = object.specify()
            for thread in merged {
                order.begin(thread, next[thread])
                specification.perform(
                    object.calls[threads[thread][next[thread]]], thread, 10 * thread + next[thread])
                order.end(thread, next[thread])
                next[thread] += 1
            }
            results[specification.results(), default: []].append(order)
        }
        return results
    }

    private func merges(_ rest: [Int]) -> [[Int]] {
        if rest.allSatisfy({ $0 == 0 }) { return [[]] }
        return rest.indices.filter { rest[$0] > 0 }.flatMap { thread in
            var after = rest
            after[thread] -= 1
            return merges(after).map { [thread] + $0 }
        }
    }
}
