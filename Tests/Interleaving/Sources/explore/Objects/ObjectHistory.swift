import CInterleaving
import Interleaving

/// Calls of an object by several threads.
struct ObjectHistory: Searched {
    let object: ObjectClass
    let threads: [[Int]]

    var description: String {
        threads.enumerated().map { thread, calls in
            "  thread \(thread): \(calls.map { object.calls[$0] }.joined(separator: "; "))"
        }.joined(separator: "\n")
    }

    /// Looks for a schedule that no order of the calls explains: first of their main steps, and then of all.
    func judged(_ options: SearchOptions) -> Judgement {
        var isCutOff = false
        var known: [Bool: Results] = [:]
        func permitted(isFine: Bool) -> Results {
            if let known = known[isFine] { return known }
            let steps = steps(isFine: isFine)
            // Too many orders to try them all.
            isCutOff = isFine && mergeCount(steps.map(\.count)) > 500_000
            known[isFine] = isCutOff ? [:] : sequentialResults(steps)
            return known[isFine]!
        }
        func isPermitted(_ results: [String], _ order: RealTimeOrder) -> Bool {
            [false, true].contains { isFine in
                permitted(isFine: isFine)[results]?.contains { order.isContained(in: $0) } ?? false
            }
        }
        var judgement = Judgement(options, limit: 2_000) {
            let (results, order, status) = run()
            let failure = il_failure().map { String(cString: $0) }
            if status == IL_REDUNDANT || failure == nil && status == IL_ENDED && isPermitted(results, order) {
                return (status, nil)
            }
            if isCutOff { return (status, nil) }
            let keys = permitted(isFine: true).keys.map { "\($0)" }.sorted()
            return (
                status, "\(results) \(failure ?? "")\npermitted: \(keys.joined(separator: "\n           "))"
            )
        }
        judgement.isCutOff = judgement.isCutOff || isCutOff
        return judgement
    }

    func runOnce() { _ = run() }

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
            runThreads(
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

    private typealias Results = [[String]: Set<RealTimeOrder>]
    /// A step of a call: the call's index, what the specification performs, and whether the call begins or ends there.
    private typealias Step = (index: Int, part: String, isFirst: Bool, isLast: Bool)

    private func steps(isFine: Bool) -> [[Step]] {
        threads.map { calls in
            calls.enumerated().flatMap { index, call in
                let name = object.calls[call]
                let parts = (object.steps[name] ?? [name]).filter { isFine || $0 != object.finerStep }
                return parts.enumerated().map { (index, $1, $0 == 0, $0 == parts.count - 1) }
            }
        }
    }

    /// Returns the results of all orders of the steps, each with the orders of the calls.
    private func sequentialResults(_ steps: [[Step]]) -> Results {
        var results: Results = [:]
        for merged in merges(steps.map(\.count)) {
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
            results[specification.results(), default: []].insert(order)
        }
        return results
    }

    private func mergeCount(_ lengths: [Int]) -> Double {
        var (total, count) = (0.0, 1.0)
        for length in lengths {
            for place in 1...length {
                total += 1
                count *= total / Double(place)
            }
        }
        return count
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
