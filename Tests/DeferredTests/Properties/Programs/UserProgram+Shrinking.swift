extension UserProgram {
    /// Returns a program that fails, too, and of which no part can be left out.
    func shrunk(while fails: (UserProgram) -> Bool) -> UserProgram {
        var smallest = self
        while let next = smallest.simpler.first(where: fails) { smallest = next }
        return smallest
    }

    private var simpler: [UserProgram] {
        let inOneThread = threads.isEmpty ? [] : [UserProgram(steps: steps + threads.flatMap { $0 })]
        return inOneThread + simplerLists(steps).map { UserProgram(steps: $0, threads: threads) }
            + threads.indices.flatMap { thread in
                simplerLists(threads[thread]).map { steps in
                    var program = self
                    program.threads[thread] = steps
                    return program
                }
            }
    }
}

private func simplerLists(_ steps: [Step]) -> [[Step]] {
    var halves: [[Step]] = []
    if steps.count > 3 {
        let middle = steps.count / 2
        halves = [Array(steps[..<middle]), Array(steps[middle...])]
    }
    return halves
        + steps.indices.reversed().map { index in Array(steps[..<index] + steps[(index + 1)...]) }
        + steps.indices.flatMap { index in
            steps[index].simpler.map { Array(steps[..<index] + [$0] + steps[(index + 1)...]) }
        }
}

extension Step {
    fileprivate var simpler: [Step] {
        let scripts = inner
        let plainer: [Step] =
            switch self {
            case .source(let id, let completion, .some): [.source(id, completion, canceller: nil)]
            case .link(let id, let target, let form, let place, let script) where place != .here:
                [.link(id, to: target, form, on: .here, script)]
            case .list(let id, let inputs, let rule, let consumes, let cancels):
                (consumes || cancels ? [.list(id, inputs, rule)] : [])
                    + inputs.indices.map { index in
                        let others = Array(inputs[..<index] + inputs[(index + 1)...])
                        return .list(id, others, rule, consumesErrors: consumes, cancelsRemaining: cancels)
                    }
            case .limited(_, let scripts, _, _), .retry(_, let scripts, _):
                scripts.count > 1 ? [with(Array(scripts.dropLast())), with(Array(scripts.dropFirst()))] : []
            case .cancelAll(let ids, let byBag) where ids.count > 1:
                ids.indices.map { .cancelAll(Array(ids[..<$0] + ids[($0 + 1)...]), byBag: byBag) }
            default: []
            }
        return plainer
            + scripts.indices.flatMap { index in
                scripts[index].simpler.map { script in
                    var scripts = scripts
                    scripts[index] = script
                    return with(scripts)
                }
            }
    }
}

extension Script {
    fileprivate var simpler: [Script] {
        simplerLists(steps).map { Script(steps: $0, answer: answer) }
            + (answer == .echo ? [] : [Script(steps: steps, answer: .echo)])
    }
}
