extension Property {
    static let callbacks = [
        Property("L1, L2, F4: the closure of a link runs at most once, and with an outcome of its kind") {
            history in
            history.ids.compactMap { id in
                guard case .link(let form, _) = history.kind(id), let runs = history.runs[id] else {
                    return nil
                }
                if runs.count > 1 { return "the closure of d\(id) ran \(runs.count) times" }
                let isValue = if case .value = runs[0].input { true } else { false }
                switch form {
                case .value where !isValue: return "the callback of d\(id) ran with \(runs[0].input!)"
                case .error where isValue: return "the errback of d\(id) ran with a value"
                default: return nil
                }
            }
        },
        Property("F2, F4: callbacks of one Deferred run one at a time, in the order attached") { history in
            history.ids.flatMap { id -> [String] in
                let runs = history.made.values.filter { made in
                    guard case .link(_, .here) = made.position.kind else { return false }
                    return made.position.inputs == [id]
                }.compactMap { made in
                    history.runs[made.position.id]?.first.map {
                        (made: made.time, attached: history.attached[made.position.id] ?? .max, run: $0)
                    }
                }.filter { $0.run.input != .cancelled }.sorted { $0.run.began < $1.run.began }
                return zip(runs, runs.dropFirst()).compactMap { first, second in
                    let isInOrder = first.run.ended < second.run.began && first.made < second.attached
                    return isInOrder
                        ? nil
                        : "the callbacks of d\(id) overlapped, or ran out of order: d\(first.run.call.id), d\(second.run.call.id)"
                }
            }
        },
        Property("F4: all callbacks of a Deferred run before those further downstream") { history in
            let runs = history.made.values.compactMap { made -> (upstream: Int, run: History.Running)? in
                guard case .link = made.position.kind, let run = history.runs[made.position.id]?.first,
                    run.input != .cancelled
                else { return nil }
                return (made.position.inputs[0], run)
            }
            return runs.flatMap { below -> [String] in
                guard let (upstream, above) = runs.first(where: { $0.run.call.id == below.upstream }),
                    above.end?.deferred == nil, history.attached[below.run.call.id] ?? .max < above.began
                else { return [] }
                return runs.compactMap { _, beside in
                    guard history.made[beside.call.id]!.position.inputs == [upstream],
                        case .link(_, .here) = history.kind(beside.call.id),
                        history.attached[beside.call.id] ?? .max < above.began,
                        beside.began > below.run.began
                    else { return nil }
                    return "the callback of d\(beside.call.id) ran after that of d\(below.run.call.id)"
                }
            }
        },
        // Of what is pending and paused, nothing is notified before the last unpause, but of a cancel.
        Property("P1: nothing that is attached to what is paused is notified of its outcome") { history in
            var counts: [Int: Int] = [:]
            var violations: [String] = []
            // Another thread may be about to call one when the pause begins.
            var areBeingCalled: Set<Int> = []
            for (time, event) in history.events.enumerated() {
                switch event {
                case .paused(let id):
                    counts[id, default: 0] += 1
                    if history.isThreaded, history.isSettled(id, at: time) { areBeingCalled.insert(id) }
                // Of two calls that overlap, either may be first.
                case .unpaused(let id): counts[id] = max(history.isThreaded ? -9 : 0, (counts[id] ?? 0) - 1)
                case .closing: return violations
                case .began(let call, let input?) where input != .cancelled && !history.isInItsBox(input):
                    guard case .link(_, .here) = history.kind(call.id),
                        let upstream = history.made[call.id]?.position.inputs.first,
                        counts[upstream] ?? 0 > 0,
                        !history.isOutOfSight(upstream, at: time), history.isPending(call.id, at: time),
                        areBeingCalled.remove(upstream) == nil
                    else { continue }
                    violations.append("d\(call.id) was notified of d\(upstream), which is paused")
                default: break
                }
            }
            return violations
        },
        Property("Q1, D5: no more is in progress than the limit") { history in
            var locks: [Int: Int] = [:]
            return history.events.enumerated().compactMap { time, event in
                guard case .began(let call, _) = event else { return nil }
                switch history.kind(call.id) {
                case .locked(let lock)?:
                    defer { locks[lock] = call.id }
                    guard let other = locks[lock], let run = history.runs[other]?.first, other != call.id,
                        run.ended > time || history.isInProgress(run, of: other, at: time),
                        !history.isConcerned(other, before: time),
                        let quiet = history.quiet.first(where: { $0 > time }),
                        history.isPending(other, at: quiet)
                    else { return nil }
                    return "the body of d\(call.id) began while d\(other) had the permit"
                case .limited?
                where history.runs[call.id]!.contains(where: { $0.began < time && $0.ended > time }):
                    return "the list d\(call.id) began an element while it began another"
                case .limited(let limit)?:
                    let others = (history.runs[call.id] ?? []).filter { run in
                        run.began < time
                            && (run.ended > time || history.isInProgress(run, of: call.id, at: time))
                    }
                    return others.count < limit
                        ? nil : "the list d\(call.id) had \(others.count) in progress, and began another"
                default: return nil
                }
            }
        },
        Property("Q6: a call that was replaced delivers no value") { history in
            history.ids.compactMap { id in
                guard case .latest(let latest)? = history.kind(id),
                    let next = history.made.values.filter({
                        $0.position.kind == .latest(latest) && $0.time > history.made[id]!.time
                    })
                    .map(\.time).min(),
                    !history.isSettled(id, at: history.isThreaded ? history.end : next)
                else { return nil }
                for (position, _) in history.made.values where position.inputs == [id] {
                    if case .link = position.kind, case .value? = history.runs[position.id]?.first?.input {
                        return "d\(id) was replaced at \(next), and delivered a value"
                    }
                }
                return nil
            }
        },
    ]
}

extension History {
    /// Whether a cancel has begun that concerns it.
    fileprivate func isConcerned(_ id: Int, before time: Int) -> Bool {
        cancels.values.contains { $0.began < time && $0.concerned.contains(id) }
    }

    /// Whether a position waits for the Deferred that its closure returned.
    fileprivate func isInProgress(_ run: Running, of id: Int, at time: Int) -> Bool {
        guard let nested = run.end?.deferred, run.ended < time else { return false }
        return [nested, id].allSatisfy { isPending($0, at: time) && !isOutOfSight($0, at: time) }
    }
}
