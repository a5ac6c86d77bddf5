extension ProgramClass {
    /// Programs that combine what no other class does; a violation's program can be pasted here.
    static let kept = ProgramClass(
        name: "kept", links: [], operations: [],
        programs: [
            // F4: a dispatcher that runs its work at once, and a callback that is attached meanwhile.
            ModelProgram(
                steps: pending(1) + [
                    .attach(id: 11, to: 1, Callback(form: .then, dispatcher: .inline), keep: true),
                    then(12, of: 11), then(13, of: 1),
                ],
                threads: [[resolve(1)], [then(14, of: 1)]]),
            // F4: a dispatcher that is released with the work that is submitted to it.
            ModelProgram(
                steps: pending(1) + [
                    .attach(id: 11, to: 1, Callback(form: .then, dispatcher: .released), keep: true),
                    then(12, of: 1), then(14, of: 11), .finally(id: 80, 11, []),
                ],
                threads: [[resolve(1)], [.dropDispatcher]]),
            // L5: a cycle of a follow and a nested wait, and one through a list.
            ModelProgram(
                steps: pending(2) + [then(11, of: 2, .handle(1))],
                threads: [[.follow(id: 60, 1, through: .handle, 11)], [resolve(2)]]),
            ModelProgram(
                steps: pending(3) + [
                    then(11, of: 1, .handle(13), [list(12, [3, 2], .results), then(13, of: 12)]),
                    .follow(id: 60, 3, through: .handle, 11),
                ],
                threads: [[resolve(1)], [resolve(2)]]),
            // L5: three links that wait for one another.
            ModelProgram(
                steps: pending(3) + [
                    then(11, of: 1, .handle(12)), then(12, of: 2, .handle(13)), then(13, of: 3, .handle(11)),
                ],
                threads: [[resolve(1)], [resolve(2)], [resolve(3)]]),
            // L6: a recursion; and links without handles, one in the other.
            ModelProgram(
                steps: pending(2) + [
                    then(11, of: 1, .handle(12), [then(12, of: 2, .handle(13), [settled(13)])])
                ],
                threads: [[resolve(1)], [resolve(2)], [.cancel(11)]]),
            ModelProgram(
                steps: pending(2) + [
                    then(12, of: 2), settled(3),
                    then(
                        20, of: 3, .handle(21),
                        [then(21, of: 3, .handle(22), [then(22, of: 1, .handle(2))])]),
                    .drop(21), .drop(22),
                ],
                threads: [[resolve(1)], [.cancel(20)]]),
            // Z1, C2: finalizers of what is followed, of what is cancelled, and of the inputs of a list.
            ModelProgram(
                steps: pending(2) + [.finally(id: 80, 1, []), then(11, of: 2)],
                threads: [[.follow(id: 60, 2, through: .handle, 1)], [resolve(1)], [resolve(2)]]),
            ModelProgram(
                steps: [.source(id: 1, .withResolver, Canceller()), .finally(id: 80, 1, [])],
                threads: [[.cancel(1)], [resolve(1, 101, .resolver)], [resolve(1, 102, .resolver)]]),
            ModelProgram(
                steps: [
                    .source(id: 1, .withResolver, nil), .finally(id: 80, 1, [resolve(1, 101, .resolver)]),
                ],
                threads: [[.cancel(1)], [resolve(1, 102, .resolver)]]),
            ModelProgram(
                steps: pending(2) + [
                    .finally(id: 80, 1, []), .finally(id: 81, 2, []), list(11, [1, 2], .values),
                    then(12, of: 11),
                ],
                threads: [[resolve(1)], [resolve(2)], [.cancel(11)]]),
            // C5: a cancel that meets a source which follows another, and one that comes while a canceller runs.
            ModelProgram(
                steps: [.source(id: 1, .withResolver, nil)] + pending(3).suffix(2) + [
                    .follow(id: 60, 1, through: .resolver, 2), then(11, of: 1, .handle(3)),
                ],
                threads: [[.cancel(11)], [resolve(2)]]),
            ModelProgram(
                steps: [.source(id: 1, .plain, Canceller(completes: .value(.number(7)))), then(11, of: 1)],
                threads: [[.cancel(1)], [.cancel(11)]]),
            // C4: one cancel comes to another, of a detached link that waits for a nested Deferred.
            ModelProgram(
                steps: pending(2) + [
                    .attach(
                        id: 11, to: 1,
                        Callback(form: .fail, isNested: true, onFailure: ScriptedBody(answer: .handle(2))),
                        keep: true),
                    then(12, of: 11), .attach(id: 13, to: 1, Callback(form: .fail), keep: true),
                ],
                threads: [[.cancel(11), .cancel(11)], [.cancel(12), resolve(2)]]),
            // P1: a completion that comes too late while the last handle is released; an await of what is paused.
            ModelProgram(
                steps: [.source(id: 1, .withResolver, nil), then(11, of: 1), then(12, of: 11), .pause(1)],
                threads: [
                    [resolve(1, 100, .resolver)], [.cancel(12)], [resolve(1, 120, .resolver), .drop(1)],
                ]),
            ModelProgram(
                steps: pending(1) + [.pause(1), .task(id: 30, 1)],
                threads: [[.await(30)], [resolve(1)], [.unpause(id: 101, 1)]]),
            // D5: two inputs settle at once, and two more start, one after the other.
            ModelProgram(
                steps: pending(4) + [
                    .limitedList(id: 11, [1, 2, 3, 4], limit: 2, .results), then(12, of: 11),
                ],
                threads: [[resolve(1)], [resolve(2)]]),
        ])
}

private func pending(_ count: Int) -> [ModelAction] { (1...count).map { .source(id: $0, .plain, nil) } }

private func settled(_ id: Int) -> ModelAction { .settled(id: id, .value(.number(id))) }

private func resolve(_ target: Int, _ id: Int = 100, _ completer: Completer = .handle) -> ModelAction {
    .complete(id: id + target, target, through: completer, .value(.number(target)))
}

private func list(_ id: Int, _ inputs: [Int], _ rule: ListRule) -> ModelAction {
    .list(id: id, inputs, rule, ListOptions(), keep: true)
}

private func then(
    _ id: Int, of target: Int, _ answer: BodyResult = .echo, _ actions: [ModelAction] = []
) -> ModelAction {
    let isNested = if case .handle = answer { true } else { false }
    let body = ScriptedBody(actions: actions, answer: answer)
    return .attach(id: id, to: target, Callback(form: .then, isNested: isNested, onValue: body), keep: true)
}
