extension Property {
    static let reports = [
        // A closure that threw, or a source that was rejected, of which nothing is attached and nothing was cancelled.
        Property("U1: a failure that nothing handled is reported once") { history in
            history.ids.compactMap { id in
                guard let failure = history.failure(of: id), !history.isHandled(id) else { return nil }
                let count = history.reports(of: id).count
                return count == 1 ? nil : "the failure \(failure) of d\(id) was reported \(count) times"
            }
        },
        Property("U1: a failure that was handled is not reported, and none twice") { history in
            history.ids.compactMap { id in
                let reports = history.reports(of: id)
                switch history.kind(id) {
                // The inputs of a list with a limit, and the jobs of a worker, are reported with its line.
                case .limited?, .worker?: return nil
                // What passes to a dispatcher that releases it has two failures: the one that it was to receive, and its own.
                case .link(_, .dropping)?, .link(_, .stored)?, .link(_, .released)?: return nil
                default: break
                }
                if reports.count > 1 { return "d\(id) was reported \(reports.count) times" }
                guard let report = reports.first else { return nil }
                if history.looked.contains(id) {
                    return "\(report) of d\(id) was reported, though it was read"
                }
                let handler = history.made.values.first { made in
                    guard made.position.inputs.contains(id), let run = history.runs[made.position.id]?.first
                    else { return false }
                    return run.input == report
                }
                return handler.map {
                    "\(report) of d\(id) was reported, though d\($0.position.id) received it"
                }
            }
        },
        // The first late result after a cancel is dropped.
        Property("F1, C2: each further completion is reported, but one after a cancel") { history in
            history.ids.compactMap { id in
                let refused = history.events.count {
                    if case .completed(id, _, accepted: false) = $0 { true } else { false }
                }
                let reported = history.events.count { $0 == .reported(.alreadySettled(made: id)) }
                let least = history.mayBeCancelled(id) ? max(0, refused - 1) : refused
                return least <= reported && reported <= refused
                    ? nil : "\(refused) completions of d\(id) came too late, and \(reported) were reported"
            }
        },
        Property("U1: an abandonment that nothing waited for is not reported") { history in
            history.ids.compactMap { id in
                guard case .link(_, let place)? = history.kind(id), place != .here, place != .inline,
                    history.reports(of: id).contains(.abandoned), !history.isHandled(id),
                    history.runs[id] == nil,
                    let upstream = history.outcomes[history.made[id]!.position.inputs[0]],
                    upstream != .abandoned
                else { return nil }
                return "d\(id) was reported: its dispatcher released its work, and nothing waited for it"
            }
        },
        Property("U1, C2: a failure of work that was cancelled is not reported") { history in
            guard history.made.values.allSatisfy(\.position.isSimple) else { return [] }
            return history.runs.values.joined().compactMap { run in
                guard run.call.role == .canceller, case .error(let number)? = run.end,
                    !history.runs.values.joined().contains(where: { $0.input == .failure(number) })
                else { return nil }
                let report = history.events.contains {
                    if case .reported(.unhandled(.failure(number), _)) = $0 { true } else { false }
                }
                return report ? "the error \(number) was reported, of the canceller of d\(run.call.id)" : nil
            }
        },
        // Links, sources and Tasks only: others may handle it, or keep it.
        Property("U1: a failure that is passed on is not lost") { history in
            guard history.isThreaded, history.looked.isEmpty,
                history.made.values.allSatisfy({ $0.position.passesAllOn })
            else { return [] }
            return history.completions.compactMap { id, completion in
                guard case .failure = completion.outcome, !history.follows.keys.contains(id),
                    history.cancels.values.allSatisfy({ cancel in
                        cancel.began > completion.time
                            && cancel.targets.allSatisfy { history.kind($0) == .task }
                    })
                else { return nil }
                let isKnown = history.events.contains { event in
                    switch event {
                    case .began(_, let input): input == completion.outcome
                    case .waited(_, let outcome, _), .awaited(_, let outcome): outcome == completion.outcome
                    case .reported(.unhandled(let outcome, _)): outcome == completion.outcome
                    default: false
                    }
                }
                return isKnown ? nil : "nothing received the error of d\(id), and it was not reported"
            }
        },
        Property("U1: a cancel is never reported") { history in
            history.events.compactMap { event in
                guard case .reported(.unhandled(.cancelled, let made)) = event else { return nil }
                return "the cancel of d\(made) was reported"
            }
        },
    ]
}

extension History {
    fileprivate func reports(of id: Int) -> [Outcome] {
        events.compactMap { event in
            if case .reported(.unhandled(let outcome, id)) = event { outcome } else { nil }
        }
    }

    /// The error that its own closure threw, or with which it was completed.
    private func ownFailure(_ id: Int) -> Outcome? {
        if case .failure? = completions[id]?.outcome { return completions[id]?.outcome }
        guard case .link = kind(id), case .error(let number)? = runs[id]?.last?.end else { return nil }
        return .failure(number)
    }

    /// The same, of a position that no cancel has touched.
    fileprivate func failure(of id: Int) -> Outcome? {
        guard let failure = ownFailure(id) else { return nil }
        return mayBeCancelled(id) || runs[id]?.contains(where: { $0.call.role == .canceller }) ?? false
            ? nil : failure
    }

    /// Whether anything was ever attached to it, or has read it.
    fileprivate func isHandled(_ id: Int) -> Bool {
        looked.contains(id)
            || made.values.contains { made in
                made.position.inputs.contains(id)
                    || (runs[made.position.id] ?? []).contains { $0.end?.deferred == id }
            } || follows.values.contains { $0.contains { $0.other == id } }
    }
}

extension Made {
    fileprivate var passesAllOn: Bool {
        switch kind {
        case .source, .settled, .link(_, .here), .task: true
        default: false
        }
    }
}
