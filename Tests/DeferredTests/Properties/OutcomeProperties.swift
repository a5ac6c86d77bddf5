extension Property {
    static let outcomes = [
        Property("F1, L1-L4, C3-C5, D2: an outcome is a closure's, or of what was waited for, or a cancel's")
        { history in
            history.outcomes.sorted { $0.key < $1.key }.compactMap { id, outcome in
                history.allows(outcome, of: id) ? nil : "the outcome of d\(id) is \(outcome)"
            }
        },
        // When nothing of the user's runs, and nothing is paused.
        Property("F2, F3, A1: nothing waits for what is settled, or can't be") { history in
            history.quiet.filter { $0 < history.closing && !history.isAnythingPaused(at: $0) }.flatMap {
                time in
                history.ids.compactMap { id in
                    guard history.isPending(id, at: time), !history.isOutOfSight(id, at: time),
                        let other = history.missed(by: id, at: time)
                    else { return nil }
                    return "d\(id) waits at \(time) for d\(other), which is settled or can't be"
                }
            }
        },
        Property("C3: what is cancelled from below has no other consumer") { history in
            guard let first = history.cancels.values.map(\.began).min() else { return [] }
            return history.ids.compactMap { id in
                guard history.outcomes[id] == .cancelled, let settled = history.settled[id], first < settled,
                    // The error has not come from upstream.
                    history.everUpstream(id).allSatisfy({ history.outcomes[$0] ?? .cancelled != .cancelled }),
                    !history.cancels.values.contains(where: { $0.targets.contains(id) }),
                    // A call that is replaced is cancelled, whoever consumes it (Q6).
                    !history.isLatest(id)
                else { return nil }
                let other = history.consumers(id, at: first).first { consumer in
                    history.attached[consumer] ?? 0 < first
                        && !history.isFollowing(consumer, id, since: first)
                        && history.consumers(id, at: settled).contains(consumer)
                        && (history.kind(consumer) == .shielded || !history.mayBeCancelled(consumer))
                        && !history.mayBeDecided(consumer, at: settled)
                }
                return other.map { "d\(id) was cancelled, though d\($0) waits for it" }
            }
        },
        // What an errback answers with is not cancelled by what it answers.
        Property("C5: a cancel takes effect once") { history in
            guard history.isThreaded, history.cancels.count == 1, let cancel = history.cancels.values.first
            else { return [] }
            return history.runs.values.joined().compactMap { run in
                guard run.input == .cancelled, run.began > cancel.began, let nested = run.end?.deferred,
                    !cancel.concerned.contains(nested), history.outcomes[nested] == .cancelled,
                    case .source = history.kind(nested)
                else { return nil }
                return "d\(nested) was cancelled by the cancel that d\(run.call.id) answered with it"
            }
        },
        Property("C1, C5: what a canceller completes with comes to those whose cancels came before") {
            history in
            history.ids.flatMap { id -> [String] in
                guard let run = history.runs[id]?.first(where: { $0.call.role == .canceller }),
                    let completion = history.completions[id], case .value(let number) = completion.outcome,
                    run.end == .value(number)
                else { return [] }
                return history.cancels.values.flatMap(\.targets).compactMap { target in
                    guard history.made[target]?.position.inputs == [id],
                        history.kind(target) == .link(.value, .here),
                        history.cancels.values.allSatisfy({
                            !$0.targets.contains(target)
                                || $0.ended < min(completion.time, history.settled[id] ?? .max)
                        }),
                        history.cancels.values.contains(where: {
                            $0.targets == [target] && $0.began > run.began
                        }),
                        history.runs[target] == nil, history.outcomes[target] == .cancelled
                    else { return nil }
                    return "d\(target) was cancelled, though the canceller of d\(id) answered"
                }
            }
        },
        // Of all other cancels nothing is known here.
        Property("C1: what a canceller answers the only cancel with cancels nothing") { history in
            guard history.cancels.count == 1, let cancel = history.cancels.values.first,
                cancel.targets.count == 1, history.follows.isEmpty, !history.isAnythingEverPaused,
                history.made.values.allSatisfy({ $0.position.isSimple }),
                let run = history.runs.values.joined().first(where: { $0.call.role == .canceller }),
                let completion = history.completions[run.call.id], let end = run.end,
                end.number == completion.outcome.number, cancel.concerned.contains(run.call.id)
            else { return [] }
            return history.outcomes.filter { $0.value == .cancelled }.map {
                "d\($0.key) was cancelled, though the canceller of d\(run.call.id) answered"
            }
        },
        Property("wait() deadlocks in a closure only") { history in
            history.events.compactMap {
                guard case .waited(let id, .wouldDeadlock, isInside: false) = $0 else { return nil }
                return "a wait for d\(id) would deadlock, and nothing runs on its thread"
            }
        },
    ]
}

extension History {
    fileprivate var isAnythingEverPaused: Bool {
        events.contains { if case .paused = $0 { true } else { false } }
    }

    fileprivate func isAnythingPaused(at time: Int) -> Bool {
        var counts: [Int: Int] = [:]
        for event in events[..<time] {
            if case .paused(let id) = event { counts[id, default: 0] += 1 }
            if case .unpaused(let id) = event { counts[id] = max(0, (counts[id] ?? 0) - 1) }
        }
        return counts.values.contains { $0 > 0 }
    }

    /// Something that a pending position waits for, and that is settled, or abandoned.
    fileprivate func missed(by id: Int, at time: Int) -> Int? {
        let others = waits(id, at: time)
        switch kind(id) {
        case .link(_, .here), .link(_, .inline), .shielded, .timeout, .source: break
        // Its dispatcher has yet to run it.
        case .link: if !(runs[id]?.contains { $0.ended < time } ?? false) { return nil }
        // Its Task has yet to run, unless it is one of the explorer's.
        case .task: if !isThreaded { return nil }
        case .list: return others.allSatisfy { isSettled($0, at: time) } ? others.first : nil
        default: return nil
        }
        return others.first { isSettled($0, at: time) || isAbandoned($0, at: time) }
    }

    fileprivate func isLatest(_ id: Int) -> Bool { if case .latest? = kind(id) { true } else { false } }

    /// Whether a list is decided, or may be: nobody may have looked at it, or another thread may be about to decide it.
    fileprivate func mayBeDecided(_ id: Int, at time: Int) -> Bool {
        guard case .list? = kind(id) else { return false }
        return decided[id] ?? .max <= time
            || made[id]!.position.inputs.contains { isSettled($0, at: time) }
    }

    /// Whether a source follows another whose call of follow() may have been in progress.
    fileprivate func isFollowing(_ id: Int, _ other: Int, since time: Int) -> Bool {
        isThreaded
            && follows[id]?.contains { follow in
                follow.other == other && !quiet.contains { follow.time < $0 && $0 < time }
            } ?? false
    }

    /// A source whose handles, or whose resolver, were released before anything completed it.
    private func isAbandoned(_ id: Int, at time: Int) -> Bool {
        guard case .source(let completion)? = kind(id), completions[id] == nil, follows[id] == nil else {
            return false
        }
        let isAwaited = made.values.contains { $0.position.kind == .task && $0.position.inputs == [id] }
        return !isAwaited
            && (completion == .handle ? dropped[id] : resolverDropped[id]).map { $0 < time } ?? false
    }

    fileprivate func allows(_ outcome: Outcome, of id: Int) -> Bool {
        guard let position = made[id]?.position else { return true }
        if let completion = completions[id] { return completion.outcome == outcome }
        let run = runs[id]?.first { $0.call.role == .body }
        if case .link = position.kind {
            switch run?.end {
            case .value(let number)?: return outcome == .value(number)
            case .error(let number)?: return outcome == .failure(number)
            case .rethrown(let input)?: return outcome == input
            default: break
            }
        }
        switch outcome {
        case .cancelled where position.kind == .task && settled[id]! > closing: return true
        case .cancelled:
            return Set([id]).union(everUpstream(id)).contains(where: mayBeCancelled)
                && mayBeCancelledFromOutside(id)
        case .cycle: return Set([id]).union(everUpstream(id)).contains { everUpstream($0).contains($0) }
        case .abandoned: return true
        case .empty where position.inputs.isEmpty: return true
        default: break
        }
        func isOutcome(of other: Int) -> Bool { outcomes[other].map { $0 == outcome } ?? true }
        let isValue = if case .value = outcome { true } else { false }
        let inputs = position.inputs.map { (id: $0, outcome: outcomes[$0]) }
        switch position.kind {
        case .link(let form, _):
            if let run { return run.end?.deferred.map(isOutcome) ?? true }
            return isOutcome(of: inputs[0].id) && (form == .value && !isValue || form == .error && isValue)
        case .shielded, .timeout: return outcome == .timedOut || isOutcome(of: inputs[0].id)
        case .source: return (follows[id] ?? []).contains { isOutcome(of: $0.other) }
        case .list(.values, _, _) where isValue: return !inputs.contains { $0.outcome?.isValue == false }
        case .list(.first, _, _) where !isValue: return !inputs.contains { $0.outcome?.isValue == true }
        case .list(let rule, _, _) where rule != .results && !isValue:
            return inputs.contains { isOutcome(of: $0.id) }
        default: return true
        }
    }
}

extension Ended {
    fileprivate var number: Int? {
        switch self {
        case .value(let number), .error(let number): number
        default: nil
        }
    }
}

extension Outcome {
    fileprivate var number: Int? {
        switch self {
        case .value(let number), .failure(let number): number
        default: nil
        }
    }

    fileprivate var isValue: Bool { if case .value = self { true } else { false } }
}
