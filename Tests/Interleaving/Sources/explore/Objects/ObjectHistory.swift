import CInterleaving

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
        let cells = il_cells_alive()
        var (results, order, status) = runInThreads()
        if status == IL_ENDED, il_cells_alive() != cells { results.append("leaked") }
        return (results, order, status)
    }

    private func runInThreads() -> (results: [String], order: RealTimeOrder, status: Int) {
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
        if status != IL_ENDED { return (["no thread can go on"], order, status) }
        defer { subject.end() }
        return (subject.results(), order, status)
    }

    /// Returns the results of all orders of the calls, each with those orders.
    private func sequentialResults() -> [[String]: [RealTimeOrder]] {
        // The steps of each thread: the call's index, what the specification performs, and whether the call begins or
        // ends there.
        let isLong = threads.joined().count { object.steps[object.calls[$0]]?.count ?? 0 > 2 } > 2
        let steps = threads.map { calls in
            calls.enumerated().flatMap { index, call in
                let name = object.calls[call]
                let parts = (object.steps[name] ?? [name]).filter { !isLong || $0 != object.finerStep }
                return parts.enumerated().map { (index, $1, $0 == 0, $0 == parts.count - 1) }
            }
        }
        var results: [[String]: [RealTimeOrder]] = [:]
        for merged in merges(steps.map { $0.count }) {
            var order = RealTimeOrder()
            var next = Array(repeating: 0, count: threads.count)
            let specification = object.specify()
            for thread in merged {
                let (index, part, isFirst, isLast) = steps[thread][next[thread]]
                next[thread] += 1
                if isFirst { order.begin(thread, index) }
                specification.perform(part, thread, 10 * thread + index)
                if isLast { order.end(thread, index) }
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
