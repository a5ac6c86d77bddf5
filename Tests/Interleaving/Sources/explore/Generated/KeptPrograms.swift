extension ProgramClass {
    /// Programs that combine what no other class does; a violation's program can be pasted here.
    static let kept = ProgramClass(
        name: "kept", links: [], operations: [],
        programs: [
            // F4: a dispatcher that runs its work at once, and a callback that is attached meanwhile.
            UserProgram(
                steps: pending(1) + [
                    .link(11, to: 1, .value, on: .inline, Script()),
                    then(12, of: 11), then(13, of: 1),
                ],
                threads: [[resolve(1)], [then(14, of: 1)]]),
            // F4: a dispatcher that is released with the work that is submitted to it.
            UserProgram(
                steps: pending(1) + [
                    .link(11, to: 1, .value, on: .released, Script()),
                    then(12, of: 1), then(14, of: 11), .finally(80, of: 11, []),
                ],
                threads: [[resolve(1)], [.dropDispatcher]]),
            // L5: a cycle of a follow and a nested wait, and one through a list.
            UserProgram(
                steps: pending(2) + [then(11, of: 2, .deferred(1))],
                threads: [[.follow(1, other: 11)], [resolve(2)]]),
            UserProgram(
                steps: pending(3) + [
                    then(11, of: 1, .deferred(13), [list(12, [3, 2], .results), then(13, of: 12)]),
                    .follow(3, other: 11),
                ],
                threads: [[resolve(1)], [resolve(2)]]),
            // L5: three links that wait for one another.
            UserProgram(
                steps: pending(3) + [
                    then(11, of: 1, .deferred(12)), then(12, of: 2, .deferred(13)),
                    then(13, of: 3, .deferred(11)),
                ],
                threads: [[resolve(1)], [resolve(2)], [resolve(3)]]),
            // L6: a recursion; and links without handles, one in the other.
            UserProgram(
                steps: pending(2) + [
                    then(11, of: 1, .deferred(12), [then(12, of: 2, .deferred(13), [settled(13)])])
                ],
                threads: [[resolve(1)], [resolve(2)], [.cancel(11)]]),
            UserProgram(
                steps: pending(2) + [
                    then(12, of: 2), settled(3),
                    then(
                        20, of: 3, .deferred(21),
                        [then(21, of: 3, .deferred(22), [then(22, of: 1, .deferred(2))])]),
                    .drop(21), .drop(22),
                ],
                threads: [[resolve(1)], [.cancel(20)]]),
            // Z1, C2: finalizers of what is followed, of what is cancelled, and of the inputs of a list.
            UserProgram(
                steps: pending(2) + [.finally(80, of: 1, []), then(11, of: 2)],
                threads: [[.follow(2, other: 1)], [resolve(1)], [resolve(2)]]),
            UserProgram(
                steps: [.source(1, .resolver, canceller: Script()), .finally(80, of: 1, [])],
                threads: [[.cancel(1)], [resolve(1, 101)], [resolve(1, 102)]]),
            UserProgram(
                steps: [
                    .source(1, .resolver, canceller: nil), .finally(80, of: 1, [resolve(1, 101)]),
                ],
                threads: [[.cancel(1)], [resolve(1, 102)]]),
            UserProgram(
                steps: pending(2) + [
                    .finally(80, of: 1, []), .finally(81, of: 2, []), list(11, [1, 2], .values),
                    then(12, of: 11),
                ],
                threads: [[resolve(1)], [resolve(2)], [.cancel(11)]]),
            // C5: a cancel that meets a source which follows another, and one that comes while a canceller runs.
            UserProgram(
                steps: [.source(1, .resolver, canceller: nil)] + pending(3).suffix(2) + [
                    .follow(1, other: 2), then(11, of: 1, .deferred(3)),
                ],
                threads: [[.cancel(11)], [resolve(2)]]),
            UserProgram(
                steps: [.source(1, .handle, canceller: Script(answer: .value)), then(11, of: 1)],
                threads: [[.cancel(1)], [.cancel(11)]]),
            // C4: one cancel comes to another, of a detached link that waits for a nested Deferred.
            UserProgram(
                steps: pending(2) + [
                    .link(11, to: 1, .error, on: .here, Script(answer: .deferred(2))),
                    then(12, of: 11), .link(13, to: 1, .error, on: .here, Script()),
                ],
                threads: [[.cancel(11), .cancel(11)], [.cancel(12), resolve(2)]]),
            // P1: a completion that comes too late while the last handle is released; an await of what is paused.
            UserProgram(
                steps: [.source(1, .resolver, canceller: nil), then(11, of: 1), then(12, of: 11), .pause(1)],
                threads: [
                    [resolve(1, 100)], [.cancel(12)], [resolve(1, 120), .drop(1)],
                ]),
            UserProgram(
                steps: pending(1) + [.pause(1), .awaiting(30, 1)],
                threads: [[.runJobs], [resolve(1)], [.unpause(1)]]),
            // D5: two inputs settle at once, and two more start, one after the other.
            UserProgram(
                steps: pending(4) + [
                    .limited(11, (1...4).map { Script(answer: .deferred($0)) }, limit: 2, .results),
                    then(12, of: 11),
                ],
                threads: [[resolve(1)], [resolve(2)]]),
        ])
}

private func pending(_ count: Int) -> [Step] { (1...count).map { .source($0, .handle, canceller: nil) } }

private func settled(_ id: Int) -> Step { .settled(id, fails: false) }

private func resolve(_ target: Int, _ id: Int = 100) -> Step {
    .complete(id + target, target: target, fails: false)
}

private func list(_ id: Int, _ inputs: [Int], _ rule: Rule) -> Step { .list(id, inputs, rule) }

private func then(_ id: Int, of target: Int, _ answer: Answer = .echo, _ steps: [Step] = []) -> Step {
    .link(id, to: target, .value, on: .here, Script(steps: steps, answer: answer))
}
