extension Property {
    static let finalizers = [
        Property("Z1, Z3: a finalizer runs once") { history in
            history.finalizers.values.compactMap {
                $0.runs.count == 1 ? nil : "finalizer f\($0.id) of d\($0.target) ran \($0.runs.count) times"
            }
        },
        Property("Z3: a finalizer of what is settled runs at once") { history in
            history.finalizers.values.compactMap { finalizer in
                guard !finalizer.wasPending, let run = finalizer.runs.first?.time else { return nil }
                return run < finalizer.attached ? nil : "f\(finalizer.id) did not run at once"
            }
        },
        // All that was attached to it when it was settled is settled, and all that was attached to that, and so on.
        Property("Z1: a finalizer runs after all that follows from what was attached before") { history in
            history.finalizers.values.compactMap { finalizer in
                guard finalizer.wasPending, let run = finalizer.runs.first?.time,
                    let settled = history.settled[finalizer.target], settled > finalizer.attached,
                    !history.wasAddedDuringCancel(finalizer),
                    !history.isCancelledBesideItsConsumer(finalizer.target),
                    let open = history.open(below: finalizer.target, settled: settled, at: run)
                else { return nil }
                return "f\(finalizer.id) of d\(finalizer.target) ran before d\(open) was settled"
            }
        },
        // What one cancel ends, it ends from below.
        Property("Z1, Z2: of what a cancel ends, what is downstream ends before a finalizer upstream runs") {
            history in
            // Another thread's completion may end them in its own order.
            if history.isThreaded { return [] }
            return history.cancels.values.flatMap { cancel -> [String] in
                let concerned = cancel.concerned
                let quiet = history.quiet.first { $0 > cancel.ended } ?? history.end
                return history.finalizers.values.compactMap { finalizer -> String? in
                    guard finalizer.wasPending, concerned.contains(finalizer.target),
                        let run = finalizer.runs.first?.time,
                        run > cancel.began, run < quiet, finalizer.added < cancel.began,
                        !history.isCancelledBesideItsConsumer(finalizer.target)
                    else { return nil }
                    for id in concerned.sorted()
                    where history.upstream([id], at: cancel.began, isOneWay: true).contains(
                        finalizer.target)
                    {
                        guard let settled = history.settled[id], settled <= run else { continue }
                        let below = history.below(id, settled: settled)
                        for other in below.sorted() {
                            if let late = history.runs[other]?.first(where: {
                                $0.began > run && $0.began < quiet
                            }) {
                                return
                                    "f\(finalizer.id) of d\(finalizer.target) ran before the callback of d\(late.call.id)"
                            }
                        }
                        for other in history.finalizers.values
                        where other.wasPending && (below.contains(other.target) || other.target == id) {
                            if let late = other.runs.first?.time, late > run, late < quiet {
                                return
                                    "f\(finalizer.id) of d\(finalizer.target) ran before f\(other.id) of d\(other.target)"
                            }
                        }
                    }
                    return nil
                }
            }
        },
        Property("Z2: of several finalizers of one Deferred the latest runs first") { history in
            let finalizers = history.finalizers.values.filter(\.wasPending).sorted { $0.added < $1.added }
            return finalizers.flatMap { first in
                finalizers.compactMap { second in
                    guard first.target == second.target, first.attached < second.added,
                        let run = first.runs.first?.time, let other = second.runs.first?.time, run < other,
                        run > second.attached, let settled = history.settled[first.target],
                        settled > second.attached
                    else { return nil }
                    return "f\(first.id) ran before f\(second.id), which was added later"
                }
            }
        },
    ]
}

extension History {
    /// What follows from the outcome of a position: what was attached when it was settled, and so on.
    fileprivate func below(_ id: Int, settled time: Int) -> Set<Int> {
        var found: Set<Int> = []
        var next = [(id, time)]
        while let (id, time) = next.popLast() {
            for other in consumers(id, at: time)
            where follows(other, from: id, at: time) && found.insert(other).inserted {
                if let settled = settled[other] { next.append((other, settled)) }
            }
        }
        return found
    }

    /// One of those that is not settled at `end`; nil if there is none, or none that is in sight.
    fileprivate func open(below id: Int, settled time: Int, at end: Int) -> Int? {
        var seen: Set<Int> = []
        var next = [(id, time)]
        while let (id, time) = next.popLast() {
            for other in consumers(id, at: time)
            where follows(other, from: id, at: time) && seen.insert(other).inserted {
                // One of a cycle is not settled by the next.
                if upstream([id], at: time - 1).contains(other) || areCancelledTogether(id, other) {
                    continue
                }
                if isOutOfSight(other, at: end) { continue }
                guard let settled = settled[other], settled <= end else { return other }
                next.append((other, settled))
            }
        }
        return nil
    }

    /// Whether a consumer waits for nothing else, so that it is this that settles it.
    private func follows(_ consumer: Int, from id: Int, at time: Int) -> Bool {
        if isSettled(consumer, at: time - 1) || attached[consumer] ?? .max >= time { return false }
        // A cancel in progress has taken it away, and a callback of that cancel has then completed the other.
        if cancels.values.contains(where: {
            $0.began < time && time < $0.ended && $0.concerned.contains(consumer)
                && !$0.concerned.contains(id)
        }) {
            return false
        }
        switch kind(consumer) {
        // What a cancel has taken away, or a time limit, a dispatcher may run at any time.
        case .link(_, .stored), .link(_, .released): return !mayBeCancelled(consumer)
        case .link, .timeout, .shielded: return true
        default: return false
        }
    }

    /// Two of what is cancelled as one are it or downstream of it. Left open: see README.md.
    fileprivate func isCancelledBesideItsConsumer(_ id: Int) -> Bool {
        let groups =
            cancels.values.map { (ids: $0.targets, time: $0.began) }
            + made.values.map { (ids: $0.position.inputs, time: $0.time) }
        return groups.contains { group in
            group.ids.filter { $0 == id || upstream([$0], at: group.time).contains(id) }.count > 1
        }
    }

    /// A cancel of its Deferred was in progress when a callback added it. Left open: see README.md.
    fileprivate func wasAddedDuringCancel(_ finalizer: Finalizer) -> Bool {
        cancels.values.contains {
            $0.began < finalizer.added && finalizer.added < $0.ended
                && $0.concerned.contains(finalizer.target)
        }
    }

    /// Whether both are inputs of what cancels all its inputs at once, so that neither end is that of the other.
    private func areCancelledTogether(_ id: Int, _ other: Int) -> Bool {
        let pair = [id, other]
        return cancels.values.contains { Set($0.targets).isSuperset(of: pair) }
            || made.values.contains { Set($0.position.inputs).isSuperset(of: pair) }
    }
}
