extension Property {
    static let cancels = [
        // When cancel() has returned and nothing of the user's runs, what it concerns is settled, or waits for something
        // that a callback answered with, which began after the cancel, or for a dispatcher.
        Property("C3-C6, C7, P1: a cancel takes effect on all that it concerns") { history in
            history.cancels.values.flatMap { cancel -> [String] in
                guard let quiet = history.quiet.first(where: { $0 > cancel.ended }) else { return [] }
                let concerned = cancel.concerned
                return concerned.sorted().compactMap { id in
                    history.isSettled(id, at: quiet)
                        || history.isAnswered(id, since: cancel.began, at: quiet, history.reached(by: cancel))
                        || history.isThreaded && history.wasOvertaken(cancel, upstream: id, quiet)
                        ? nil
                        : "d\(id) is pending, cancelled by cancel() of \(cancel.targets) at \(cancel.began)"
                }
            }
        },
        // A callback that was running returned what it is to wait for: that is cancelled at once.
        Property("C4, C5: what a callback returns that was cancelled while it ran is cancelled") { history in
            history.cancels.values.flatMap { cancel -> [String] in
                let concerned = cancel.concerned
                return concerned.sorted().compactMap { id in
                    guard
                        let run = history.runs[id]?.last(where: {
                            $0.began < cancel.began && $0.ended > cancel.began
                        }),
                        case .link = history.kind(id), let nested = run.end?.deferred,
                        let quiet = history.quiet.first(where: { $0 > max(run.ended, cancel.ended) }),
                        history.isPending(id, at: run.ended + 1), !history.isOutOfSight(id, at: quiet)
                    else { return nil }
                    let all = history.concerned([id], at: run.ended + 1)
                    if history.isSettled(id, at: quiet)
                        || history.isAnswered(id, since: run.ended, at: quiet, all.union(concerned))
                    {
                        return nil
                    }
                    return
                        "d\(id) waits for d\(nested), though it was cancelled at \(cancel.began) while its callback ran"
                }
            }
        },
        // Whatever another thread did meanwhile: it came before the cancel, or after it.
        Property("C3-C5: what was cancelled is settled, if nothing could answer that") { history in
            history.cancels.values.flatMap { cancel -> [String] in
                guard let quiet = history.quiet.first(where: { $0 > cancel.ended }),
                    !history.events[cancel.began..<quiet].contains(where: \.mayAnswerCancel),
                    history.made.values.allSatisfy({ !$0.position.isOnDispatcher })
                else { return [] }
                return cancel.targets.compactMap { id in
                    guard history.isPending(id, at: cancel.began), !history.isSettled(id, at: quiet),
                        !history.isOutOfSight(id, at: cancel.began), !history.isOutOfSight(id, at: quiet)
                    else { return nil }
                    switch history.kind(id) {
                    case .link, .source, .list, .shielded, .timeout: break
                    default: return nil
                    }
                    return "d\(id) is pending, cancelled at \(cancel.began), and nothing answered"
                }
            }
        },
        // Its own closure sees the cancel, unless a closure above it answered.
        Property("C3, C5: the callback of a link that was cancelled does not run") { history in
            history.cancels.values.flatMap { cancel -> [String] in
                cancel.targets.compactMap { id in
                    guard history.isPending(id, at: cancel.began),
                        case .link(_, let place) = history.kind(id),
                        !history.isOutOfSight(id, at: cancel.began), place == .here,
                        let run = history.runs[id]?.first, run.input != .cancelled,
                        // A time limit is an answer.
                        !history.isInItsBox(run.input), !(history.isThreaded && run.input == .timedOut),
                        // Another thread's completion may overtake the cancel.
                        run.began > (history.isThreaded ? cancel.ended : cancel.began),
                        !history.isThreaded
                            || !history.lookingAtDecisions.contains(where: { $0.contains(cancel.ended) })
                    else { return nil }
                    let above = history.upstream([id], at: cancel.began)
                    let isAnswered = above.contains { other in
                        history.runs[other]?.contains { $0.ended > cancel.began && $0.began < run.began }
                            ?? false
                    }
                    return isAnswered
                        ? nil : "d\(id) received \(run.input!), though it was cancelled at \(cancel.began)"
                }
            }
        },
        // No body begins only to be cancelled.
        Property("C7: a cancel of several reaches all before it lets something begin") { history in
            history.cancels.values.flatMap { cancel -> [String] in
                let concerned = cancel.concerned
                return concerned.sorted().compactMap { id in
                    guard case .locked = history.kind(id),
                        let run = history.runs[id]?.first(where: {
                            $0.began > (history.isThreaded ? cancel.ended : cancel.began)
                        })
                    else { return nil }
                    return "the body of d\(id) began at \(run.began), after its cancel at \(cancel.began)"
                }
            }
        },
        Property("C1: a canceller runs once, and only while its source is pending") { history in
            history.ids.compactMap { id in
                let runs = (history.runs[id] ?? []).filter { $0.call.role == .canceller }
                if runs.count > 1 { return "the canceller of d\(id) ran \(runs.count) times" }
                guard let run = runs.first, let completion = history.completions[id] else { return nil }
                // Another thread may complete it between a cancel and the call of the canceller.
                let isLate =
                    history.isThreaded
                    ? history.quiet.contains { completion.time < $0 && $0 < run.began }
                    : completion.time < run.began
                return isLate
                    ? "the canceller of d\(id) ran after its completion" : nil
            }
        },
    ]
}

extension History {
    /// Whether a position that was cancelled waits for what a closure brought that began later, or for a dispatcher.
    fileprivate func isAnswered(
        _ id: Int, since time: Int, at quiet: Int, _ concerned: Set<Int>, _ seen: Set<Int> = []
    ) -> Bool {
        if seen.contains(id) { return false }
        if isOutOfSight(id, at: quiet) { return true }
        if runs[id]?.contains(where: { $0.began > time && $0.began < quiet }) ?? false { return true }
        if follows[id]?.contains(where: { $0.time > time && $0.time < quiet }) ?? false { return true }
        // Something new consumes it, or what it waits for was paused since.
        if isConsumedAnew(id, since: time, at: quiet) { return true }
        if waits(id, at: quiet).contains(where: { wasPaused($0, since: time, until: quiet) }) { return true }
        switch kind(id) {
        case .task: return true
        case .link where isDispatched(id) && !(runs[id]?.contains { $0.ended < time } ?? false): return true
        default: break
        }
        return waits(id, at: quiet).contains { other in
            let isReturned = runs[id]?.contains { $0.end?.deferred == other && $0.ended > time } ?? false
            let isDispatched = isThreaded && isDispatched(other)
            return
                (isReturned || isDispatched || concerned.contains(other)
                || hasCancelledConsumer(other, at: quiet))
                && isPending(other, at: quiet)
                && isAnswered(other, since: time, at: quiet, concerned, seen.union([id]))
        }
    }

    /// Whether another thread has decided first what the cancel came to, or consumed it meanwhile.
    fileprivate func wasOvertaken(_ cancel: Cancel, upstream id: Int, _ quiet: Int) -> Bool {
        func isAbove(_ other: Int) -> Bool { id == other || upstream([other], at: cancel.began).contains(id) }
        let isConsumed = events[cancel.began..<quiet].contains {
            if case .waited(let other, _, _) = $0 { isAbove(other) } else { false }
        }
        // A source that is being completed follows until that call returns.
        let isFollowed = follows.contains { source, others in
            guard let end = completions[source]?.time, cancel.began < end, end < quiet else { return false }
            return others.contains { isAbove($0.other) || $0.other == id }
        }
        let others = overlapping(cancel)
        return isConsumed || isFollowed
            || cancel.concerned.contains { one in
                let inputs = waits(one, at: cancel.began)
                guard inputs.count > 1, isAbove(one) else { return false }
                if let outcome = decisions[one] ?? outcomes[one], outcome != .cancelled { return true }
                return inputs.contains { input in
                    let isOther = outcomes[input].map { $0 != .cancelled } ?? false
                    return isSettled(input, at: isOther ? quiet : cancel.began)
                        || decided[one] == nil && dropped[input].map { $0 < quiet } ?? false
                        || others.contains { $0.concerned.contains(input) }
                }
            }
    }

    private func overlapping(_ cancel: Cancel) -> [Cancel] {
        cancels.values.filter {
            $0.began != cancel.began && $0.began < cancel.ended && $0.ended > cancel.began
        }
    }

    /// What a cancel concerns, and those that overlap with it: what any of them reaches may answer all.
    fileprivate func reached(by cancel: Cancel) -> Set<Int> {
        isThreaded
            ? overlapping(cancel).reduce(cancel.concerned) { $0.union($1.concerned) } : cancel.concerned
    }

    /// Whether something is attached that a dispatcher has yet to run: if it was cancelled, it is no consumer any more.
    private func hasCancelledConsumer(_ id: Int, at time: Int) -> Bool {
        consumers(id, at: time).contains(where: isDispatched)
    }

    private func isDispatched(_ id: Int) -> Bool {
        switch kind(id) {
        case .link(_, .stored), .link(_, .released): true
        default: false
        }
    }

    private func isConsumedAnew(_ id: Int, since time: Int, at quiet: Int, _ seen: Set<Int> = []) -> Bool {
        if isThreaded,
            made.values.contains(where: {
                $0.time > time && $0.time < quiet && $0.position.inputs.contains(id)
            })
        {
            return true
        }
        return consumers(id, at: quiet).contains { other in
            isNew(other, attachedTo: id, since: time)
                || !seen.contains(other) && isConsumedAnew(other, since: time, at: quiet, seen.union([id]))
        }
    }

    private func isNew(_ consumer: Int, attachedTo id: Int, since time: Int) -> Bool {
        if made[consumer]!.time > time { return true }
        if follows[consumer]?.contains(where: { $0.other == id && $0.time > time }) ?? false { return true }
        if case .task = kind(consumer), runs[consumer]?.contains(where: { $0.began > time }) ?? false {
            return true
        }
        return runs[consumer]?.contains { $0.end?.deferred == id && $0.ended > time } ?? false
    }

    private func wasPaused(_ id: Int, since time: Int, until end: Int) -> Bool {
        events[time..<end].contains { if case .paused(id) = $0 { true } else { false } }
    }
}

extension RunLog.Event {
    /// Whether that may be, or lead to, an answer to a cancel in progress, or takes it up.
    fileprivate var mayAnswerCancel: Bool {
        switch self {
        case .began(let call, let input): input == .cancelled || call.role == .canceller
        case .ended(let call, _): call.role == .canceller
        case .paused: true
        default: false
        }
    }
}

extension Made {
    fileprivate var isOnDispatcher: Bool {
        switch kind {
        case .link(_, .here), .link(_, .inline): false
        case .link: true
        default: false
        }
    }
}
