extension Property {
    static let endings = [
        // Nothing can come any more: what could complete anything was released, and all that waited has run.
        Property("A1, L5, Q5: everything is settled when nothing more can come") { history in
            history.ids.compactMap { id in
                if case .task? = history.kind(id) { return nil }
                if history.isOutOfSight(id, at: history.closed) || history.isSettled(id, at: history.closed) {
                    return nil
                }
                return "d\(id) is pending for ever"
            }
        },
        Property("C6: each Task ends") { history in
            history.ids.compactMap { id in
                guard case .task? = history.kind(id) else { return nil }
                let count = history.events.count { if case .awaited(id, _) = $0 { true } else { false } }
                return count == 1 ? nil : "the Task t\(id) ended \(count) times"
            }
        },
    ]
}
