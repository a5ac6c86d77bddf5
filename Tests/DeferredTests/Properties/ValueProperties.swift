extension Property {
    static let values = [
        // A value with onUndelivered, and an element of a queue, has one end.
        Property("V1, V2, Q2: each value is received or given back, and given back once") { history in
            var expected: Set<Int> = []
            var received: Set<Int> = []
            var returned: [Int: Int] = [:]
            for event in history.events {
                switch event {
                case .returnable(let value): expected.insert(value)
                case .received(let value): received.insert(value)
                case .returned(let value), .left(let value): returned[value, default: 0] += 1
                default: break
                }
            }
            return expected.sorted().compactMap { value in
                switch (received.contains(value), returned[value] ?? 0) {
                case (true, 0), (false, 1): nil
                case (true, _): "the value \(value) was received, and given back"
                case (false, let times):
                    "the value \(value) was received by nobody, and given back \(times) times"
                }
            }
        },
        Property("F1: a Deferred is completed once") { history in
            var first: [Int: Outcome] = [:]
            return history.events.compactMap { event in
                guard case .completed(let id, let outcome, accepted: true) = event else { return nil }
                defer { first[id] = outcome }
                return first[id].map { "d\(id) was completed with \($0) and with \(outcome)" }
            }
        },
        // Of what callbacks, errbacks and finalizers saw of one Deferred, only a cancel differs.
        Property("F4, L4: all that is attached to a Deferred sees the same outcome") { history in
            history.ids.compactMap { id in
                var seen = Set<Outcome>()
                for (position, _) in history.made.values where position.inputs == [id] {
                    guard case .link = position.kind else { continue }
                    seen.formUnion((history.runs[position.id] ?? []).compactMap(\.input))
                }
                for finalizer in history.finalizers.values where finalizer.target == id {
                    seen.formUnion(finalizer.runs.map(\.outcome))
                }
                seen.subtract([.cancelled, .abandoned])
                return seen.count > 1 ? "d\(id) was seen as \(seen)" : nil
            }
        },
        // But for the end of a wait, and the cancel of a Task.
        Property("F4: a wait and a Task see the outcome of what they wait for") { history in
            history.events.compactMap { event in
                let (id, outcome): (Int, Outcome)
                switch event {
                case .waited(let target, let seen, _) where seen != .timedOut && seen != .wouldDeadlock:
                    (id, outcome) = (target, seen)
                case .awaited(let task, let seen) where seen != .cancelled:
                    (id, outcome) = (history.made[task]!.position.inputs[0], seen)
                default: return nil
                }
                guard let actual = history.outcomes[id], actual != outcome else { return nil }
                return "a wait for d\(id) saw \(outcome), and its outcome is \(actual)"
            }
        },
    ]
}
