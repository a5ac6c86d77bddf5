/// A finished run, and what can be asked about it. Times are places in its log.
struct History {
    struct Running {
        let call: Call
        let input: Outcome?
        let began: Int
        var ended = Int.max
        var end: Ended?
    }

    struct Cancel {
        let targets: [Int]
        let began: Int
        var ended = Int.max
        /// What it concerns (``concerned(_:at:)``), when it begins.
        var concerned: Set<Int> = []
    }

    struct Finalizer {
        let id: Int
        let target: Int
        let added: Int
        let wasPending: Bool
        /// When the call that added it had returned.
        var attached = Int.max
        var runs: [(time: Int, outcome: Outcome)] = []
    }

    let events: [RunLog.Event]
    let end: Int
    private(set) var made: [Int: (position: Made, time: Int)] = [:]
    /// When the call that made it had returned: what it is attached to has it as a consumer.
    private(set) var attached: [Int: Int] = [:]
    private(set) var runs: [Int: [Running]] = [:]
    private(set) var follows: [Int: [(other: Int, time: Int)]] = [:]
    private(set) var cancels: [Int: Cancel] = [:]
    private(set) var finalizers: [Int: Finalizer] = [:]
    /// Completions that were accepted.
    private(set) var completions: [Int: (outcome: Outcome, time: Int)] = [:]
    private(set) var dropped: [Int: Int] = [:]
    private(set) var resolverDropped: [Int: Int] = [:]
    /// What was read of a position.
    private(set) var outcomes: [Int: Outcome] = [:]
    /// Whether threads act while others are in the midst of a call.
    let isThreaded: Bool
    private(set) var quiet: [Int] = []
    private(set) var closing = 0
    private(set) var closed = 0
    private(set) var settled: [Int: Int] = [:]
    /// When lists were seen to be decided, and with what.
    private(set) var decided: [Int: Int] = [:]
    /// While a thread looked with what a list was decided: another may have gone on, before a callback that it had called
    /// noted its begin.
    private(set) var lookingAtDecisions: [ClosedRange<Int>] = []
    private(set) var decisions: [Int: Outcome] = [:]
    private(set) var looked: Set<Int> = []
    private(set) var reached: Set<Int> = []

    init(_ log: RunLog, isThreaded: Bool = false) {
        self.isThreaded = isThreaded
        events = log.events
        end = events.count
        for (time, event) in events.enumerated() {
            switch event {
            case .made(let position): made[position.id] = (position, time)
            case .attached(let id): attached[id] = time
            case .began(let call, let input):
                runs[call.id, default: []].append(Running(call: call, input: input, began: time))
            case .ended(let call, let end):
                guard let index = runs[call.id]?.lastIndex(where: { $0.call == call && $0.end == nil }) else {
                    continue
                }
                (runs[call.id]![index].ended, runs[call.id]![index].end) = (time, end)
                if end.deferred == nil, case .link = made[call.id]?.position.kind { settle(call.id, time) }
            case .finalizerAdded(let id, let target, let wasPending):
                finalizers[id] = Finalizer(id: id, target: target, added: time, wasPending: wasPending)
            case .finalizerAttached(let id): finalizers[id]?.attached = time
            case .finalizerRan(let id, let outcome): finalizers[id]?.runs.append((time, outcome))
            case .followed(let id, let other): follows[id, default: []].append((other, time))
            case .completed(let id, let outcome, let isAccepted):
                if isAccepted { completions[id] = (outcome, time) }
            case .cancelBegan(let number, let targets):
                cancels[number] = Cancel(targets: targets, began: time)
            case .cancelEnded(let number): cancels[number]?.ended = time
            case .dropped(let id): dropped[id] = time
            case .resolverDropped(let id): resolverDropped[id] = time
            case .settled(let id): settle(id, time)
            case .decided(let id): decided[id] = time
            case .decidedWith(let id, let outcome):
                decisions[id] = outcome
                if let decided = decided[id] { lookingAtDecisions.append(decided...time) }
            case .seen(let id, let outcome): outcomes[id] = outcome
            case .awaited(let id, let outcome):
                settle(id, time)
                outcomes[id] = outcome
            case .looked(let id, let outcome?):
                looked.insert(id)
                outcomes[id] = outcome
            case .waited(let id, let outcome, _):
                if outcome != .timedOut, outcome != .wouldDeadlock { looked.insert(id) }
            case .quiet: quiet.append(time)
            case .closing: closing = time
            case .closed: closed = time
            default: break
            }
        }
        reached = findReached()
        for number in cancels.keys { cancels[number]!.concerned = concerned(cancels[number]!) }
    }

    private mutating func settle(_ id: Int, _ time: Int) { settled[id] = min(settled[id] ?? .max, time) }

    var ids: [Int] { made.keys.sorted() }

    func kind(_ id: Int) -> Made.Kind? { made[id]?.position.kind }

    func isSettled(_ id: Int, at time: Int) -> Bool { settled[id].map { $0 <= time } ?? false }

    func isPending(_ id: Int, at time: Int) -> Bool {
        guard let made = made[id] else { return false }
        return made.time < time && !isSettled(id, at: time)
    }

    /// Whether nobody has looked at it any more, or yet.
    func isOutOfSight(_ id: Int, at time: Int) -> Bool {
        dropped[id].map { $0 <= time } ?? false || attached[id].map { $0 > time } ?? false
    }

    func isRunning(_ id: Int, at time: Int) -> Bool {
        runs[id]?.contains { $0.began < time && $0.ended > time } ?? false
    }

    /// A value with onUndelivered is taken out of its box just before its closure runs: another thread may act meanwhile.
    func isInItsBox(_ input: Outcome?) -> Bool {
        guard isThreaded, case .value(let value)? = input else { return false }
        return events.contains(.returnable(value))
    }

    /// What a pending position waits for.
    func waits(_ id: Int, at time: Int) -> [Int] {
        guard let position = made[id]?.position, !isSettled(id, at: time) else { return [] }
        let before = (runs[id] ?? []).filter { $0.began < time && $0.call.role == .body }
        switch position.kind {
        case .settled, .get: return []
        case .source: return (follows[id] ?? []).filter { $0.time < time }.map(\.other)
        case .list where isDecided(id, at: time), .limited where isDecided(id, at: time): return []
        case .shielded, .timeout, .list: return position.inputs
        case .task: return before.isEmpty ? [] : position.inputs
        case .link:
            guard let run = before.last else { return position.inputs }
            return run.ended < time ? run.end?.deferred.map { [$0] } ?? [] : []
        case .limited: return before.compactMap { $0.ended < time ? $0.end?.deferred : nil }
        case .retry, .locked, .latest, .worker:
            guard let run = before.last, run.ended < time else { return [] }
            return run.end?.deferred.map { [$0] } ?? []
        case .cached:
            let requests = requests(of: position).filter { $0.began < time && $0.ended < time }
            return requests.max { $0.began < $1.began }?.end?.deferred.map { [$0] } ?? []
        }
    }

    /// The positions that are attached to it and pending, and those that shield it.
    func consumers(_ id: Int, at time: Int) -> [Int] {
        ids.filter { other in
            if kind(other) == .shielded {
                return made[other]!.time < time && made[other]!.position.inputs == [id]
            }
            return isPending(other, at: time) && waits(other, at: time).contains(id)
        }
    }

    /// A list whose outcome is on its way: it waits for no input any more, once the call that has decided it has returned.
    private func isDecided(_ id: Int, at time: Int) -> Bool {
        guard let decided = decided[id], decided <= time else { return false }
        return !isThreaded || quiet.contains { decided < $0 && $0 <= time }
    }

    /// Whether a canceller completed that source which began after `time`: it has answered the cancel.
    private func isAnsweredByCanceller(_ id: Int, since time: Int) -> Bool {
        runs[id]?.contains {
            $0.call.role == .canceller && $0.began > time && $0.end != nil && $0.end != .nothing
        } ?? false
    }

    /// What a cancel concerns, together with those that are in progress when it begins, if nothing has answered since.
    private func concerned(_ cancel: Cancel) -> Set<Int> {
        let others = cancels.values.filter { $0.began < cancel.began && $0.ended > cancel.began }
        let first = others.map(\.began).min() ?? cancel.began
        let isUnanswered = events[first..<cancel.began].allSatisfy {
            switch $0 {
            case .cancelBegan, .cancelEnded, .settled, .looked, .dropped: true
            default: false
            }
        }
        let together = isThreaded && isUnanswered ? others.flatMap(\.targets) : []
        return concerned(cancel.targets + together, at: cancel.began)
    }

    /// What a cancel of these concerns: them, and what they wait for and nothing else consumes (C3, C4).
    func concerned(_ targets: [Int], at time: Int) -> Set<Int> {
        var concerned = Set(targets.filter { isPending($0, at: time) })
        var isComplete = false
        while !isComplete {
            isComplete = true
            // What shields its input consumes it still, and so does a source whose canceller has answered.
            let passing = concerned.filter {
                kind($0) != .shielded && !isAnsweredByCanceller($0, since: time)
            }
            for other in passing.flatMap({ waits($0, at: time) })
            where isPending(other, at: time) && !concerned.contains(other) {
                if !passing.isSuperset(of: consumers(other, at: time)) { continue }
                concerned.insert(other)
                isComplete = false
            }
        }
        return concerned
    }

    /// The closures that began requests of the same key.
    private func requests(of position: Made) -> [Running] {
        made.values.filter { $0.position.kind == position.kind }.flatMap { runs[$0.position.id] ?? [] }
    }

    /// What a position has waited for at any time.
    private func everWaited(_ id: Int) -> [Int] {
        guard let position = made[id]?.position else { return [] }
        let closures = if case .cached = position.kind { requests(of: position) } else { runs[id] ?? [] }
        return position.inputs + (follows[id] ?? []).map(\.other) + closures.compactMap { $0.end?.deferred }
    }

    /// What has been upstream of a position at any time.
    func everUpstream(_ id: Int, beyondShields: Bool = true) -> Set<Int> {
        var found: Set<Int> = []
        var next = [id]
        while let id = next.popLast() {
            if !beyondShields, kind(id) == .shielded { continue }
            for other in everWaited(id) where found.insert(other).inserted { next.append(other) }
        }
        return found
    }

    /// What a cancel may have come to: its own, of what is below it, of a time limit, or of a list that is decided.
    ///
    /// - Parameter other: Aside from that one's time limit.
    private func findReached(asideFrom other: Int? = nil) -> Set<Int> {
        let roots =
            cancels.values.flatMap(\.targets)
            + ids.filter { id in
                switch kind(id) {
                case .timeout: id != other
                case .list(_, _, cancelsRemaining: true), .limited, .latest: true
                default: false
                }
            }
        return Set(roots).union(roots.flatMap { everUpstream($0, beyondShields: false) })
    }

    /// Whether the cancel of a position may be that of something else than its own time limit.
    func mayBeCancelledFromOutside(_ id: Int) -> Bool {
        guard kind(id) == .timeout else { return true }
        return !findReached(asideFrom: id).isDisjoint(with: everUpstream(id).union([id]))
    }

    func mayBeCancelled(_ id: Int) -> Bool { reached.contains(id) }

    /// What is upstream of these, whoever consumes it.
    ///
    /// - Parameter isOneWay: Only what a cancel below has to end: not beyond what is shielded, nor where either of two
    ///   that a source follows may end it.
    func upstream(_ ids: some Sequence<Int>, at time: Int, isOneWay: Bool = false) -> Set<Int> {
        var found: Set<Int> = []
        var next = Array(ids)
        while let id = next.popLast() {
            if isOneWay, kind(id) == .shielded || follows[id]?.count ?? 0 > 1 { continue }
            for other in waits(id, at: time) where found.insert(other).inserted { next.append(other) }
        }
        return found
    }
}

/// A rule, stated of a finished run: what contradicts it.
struct Property: Sendable {
    let name: String
    let violations: @Sendable (History) -> [String]

    init(_ name: String, _ violations: @escaping @Sendable (History) -> [String]) {
        (self.name, self.violations) = (name, violations)
    }

    static let all = cancels + finalizers + values + outcomes + reports + callbacks + endings
}
