/// The order in which the contract has callbacks, errbacks and finalizers run: of what is completed, paused and released by
/// one thread, and never cancelled. Slow and plain, written from the rules: F1 to F5, L1 to L5, P1, Z1 to Z3, A1, D1 to D3.
///
/// Consumers of settled positions are notified in breadth (F4): what one completion settles is a line of positions, and each
/// notifies all its consumers before the next does. A completion within a callback has a line of its own (F5).
final class OrderModel {
    /// A source, a link, or a list's own Deferred.
    final class Position {
        var outcome: Outcome?
        /// Those to be notified of its outcome, in the order attached.
        var consumers: [Consumer] = []
        /// Stands in a line, or notifies its consumers.
        var isInLine = false
        var hasBegun = false
        var pauses = 0
        /// What stood in line behind it, as a consequence of its own consumers, when a pause began.
        var heldUp: [Position] = []
        /// What it waits for, while it is pending.
        var waitsFor: [Position] = []
        /// Whether a nested Deferred was returned for it.
        var isNested = false
        /// As which it follows others.
        var following: [Consumer] = []
        var finalizers: [Int] = []
        /// The endings that come no sooner than what follows from it.
        var endings: [Ending] = []
        var handles = 0
        /// Handles and resolvers that can complete it.
        var completers = 0
        let isSource: Bool

        init(isSource: Bool = false) { self.isSource = isSource }
    }

    final class Consumer {
        enum Kind {
            /// A link with a closure, which runs at once or is dispatched.
            case closure(Position, Form, Place, Script, id: Int)
            /// The outcome is passed on: to a shielded position, to one that waits for a nested Deferred, or that follows.
            case passing(to: Position)
            case input(of: List, Int)
            /// The closure with which a program takes a list's values.
            case reading(Position, Rule)
        }

        let kind: Kind
        var hasLeft = false
        fileprivate(set) var upstream: Position?

        init(_ kind: Kind) { self.kind = kind }
    }

    final class List {
        let position = Position()
        let rule: Rule
        var outcomes: [Outcome?]
        var inputs: [Consumer] = []

        init(_ rule: Rule, _ count: Int) {
            (self.rule, outcomes) = (rule, Array(repeating: nil, count: count))
        }
    }

    /// The finalizers of one position, and what has to be finished before they run (Z1).
    final class Ending {
        let number: Int
        let outcome: Outcome
        let finalizers: [Int]
        let upstream: [Ending]
        var open: [Position] = []

        init(_ number: Int, _ outcome: Outcome, _ position: Position) {
            (self.number, self.outcome) = (number, outcome)
            (finalizers, upstream) = (position.finalizers, position.endings)
        }

        func isBelow(_ other: Ending) -> Bool { upstream.contains { $0 === other || $0.isBelow(other) } }
    }

    /// The positions that one completion has settled, and whose consumers are yet to be notified.
    final class Line { var positions: [Position] = [] }

    struct Work {
        let position: Position
        let form: Form
        let script: Script
        let id: Int
        let outcome: Outcome
    }

    var events: [RunLog.Event] = []
    /// Why the contract leaves open what comes next.
    var leftOpen: String?
    var works: [Work] = []
    var table = Table()
    private var endingCount = 0
    private(set) var endingOf: [Int: Ending] = [:]
    private var running: Ending?

    // MARK: Settling and notifying

    func inLine(_ body: (Line) -> Void) {
        let line = Line()
        body(line)
        while !line.positions.isEmpty { notify(line.positions.removeFirst(), line) }
    }

    func settle(_ position: Position, _ outcome: Outcome, after upstream: Position? = nil, _ line: Line) {
        guard position.outcome == nil else { return }
        position.outcome = outcome
        position.waitsFor = []
        for consumer in position.following { detach(consumer) }
        position.following = []
        join(position, upstream?.endings ?? [])
        if !position.finalizers.isEmpty { beginEnding(of: position, outcome) }
        if position.consumers.isEmpty { return leave(position) }
        position.isInLine = true
        line.positions.append(position)
    }

    func attach(_ consumer: Consumer, to position: Position) {
        // F3: unless it is being notified, or is yet to be.
        if position.isInLine, !position.hasBegun, position.consumers.allSatisfy(\.hasLeft) {
            leftOpen = "attached to what stands in line, and of which every consumer has left"
        }
        consumer.upstream = position
        position.consumers.append(consumer)
        if position.outcome == nil || position.isInLine || position.pauses > 0 { return }
        inLine { notify(position, $0) }
    }

    /// Z1: nothing follows any more from what was paused, and whose last consumer has left.
    private func detach(_ consumer: Consumer) {
        consumer.hasLeft = true
        guard let upstream = consumer.upstream, !upstream.isInLine else { return }
        upstream.consumers.removeAll { $0 === consumer }
        if upstream.outcome != nil, upstream.consumers.isEmpty, upstream.heldUp.isEmpty { leave(upstream) }
    }

    /// - Parameter start: Where in the line that begins which is a consequence of its consumers.
    private func notify(_ position: Position, _ line: Line, from start: Int? = nil) {
        let start = start ?? line.positions.count
        (position.isInLine, position.hasBegun) = (true, true)
        while let consumer = position.consumers.first {
            if position.pauses > 0 {
                position.heldUp = Array(line.positions[start...])
                line.positions.removeSubrange(start...)
                (position.isInLine, position.hasBegun) = (false, false)
                return
            }
            position.consumers.removeFirst()
            if !consumer.hasLeft { deliver(position.outcome!, of: position, to: consumer, line) }
        }
        (position.isInLine, position.hasBegun) = (false, false)
        leave(position)
    }

    /// P1: the last unpause notifies those that are left.
    func resume(_ position: Position) {
        position.pauses = 0
        let isOver = position.consumers.isEmpty && position.heldUp.isEmpty
        if position.outcome == nil || position.isInLine || isOver { return }
        inLine { line in
            line.positions = position.heldUp
            position.heldUp = []
            notify(position, line, from: 0)
        }
    }

    private func deliver(_ outcome: Outcome, of upstream: Position, to consumer: Consumer, _ line: Line) {
        switch consumer.kind {
        case .passing(let position):
            // L6: what nobody has a handle of may be passed by.
            if position.isNested, upstream.isNested, upstream.handles == 0, !line.positions.isEmpty {
                leftOpen = "passed on through what has no handle"
            }
            settle(position, outcome, after: upstream, line)
        case .input(let list, let index): receive(outcome, of: upstream, index, list, line)
        case .reading(let position, let rule): settle(position, read(outcome, rule), after: upstream, line)
        case .closure(let position, let form, let place, let script, let id):
            // Z1: what waits for a dispatcher or a nested Deferred is not finished.
            join(position, upstream.endings)
            let work = Work(position: position, form: form, script: script, id: id, outcome: outcome)
            switch place {
            case .here, .inline: perform(work, line)
            case .stored: works.append(work)
            case .dropping, .released: settle(position, .abandoned, line)
            }
        }
    }

    /// Runs the closure of a link, or bypasses it (L1).
    func perform(_ work: Work, _ line: Line) {
        let isValue = if case .value = work.outcome { true } else { false }
        if work.form == .value && !isValue || work.form == .error && isValue {
            return settle(work.position, work.outcome, line)
        }
        switch run(Call(id: work.id), work.script, work.outcome) {
        case .value(let number): settle(work.position, .value(number), line)
        case .error(let number): settle(work.position, .failure(number), line)
        case .rethrown(let outcome): settle(work.position, outcome, line)
        case .deferred(let id): wait(work.position, for: table.handles[id]!.position, line)
        case .nothing: break
        }
    }

    /// L4, L5.
    private func wait(_ position: Position, for nested: Position, _ line: Line) {
        if nested === position || waits(nested, for: position) { return settle(position, .cycle, line) }
        if let outcome = nested.outcome, !nested.isInLine, nested.pauses == 0 {
            return settle(position, outcome, line)
        }
        (position.waitsFor, position.isNested) = ([nested], true)
        nested.consumers.append(Consumer(.passing(to: position)))
    }

    private func waits(_ position: Position, for other: Position) -> Bool {
        position.waitsFor.contains { $0 === other || waits($0, for: other) }
    }

    /// The first that is settled of what it follows completes it.
    func follow(_ position: Position, _ other: Position) {
        guard position.outcome == nil else { return }
        if other === position || waits(other, for: position) {
            return inLine { settle(position, .cycle, $0) }
        }
        let consumer = Consumer(.passing(to: position))
        position.waitsFor.append(other)
        position.following.append(consumer)
        attach(consumer, to: other)
    }

    /// A1, P1: what nothing can complete any more fails; what nothing can unpause is not paused.
    func handleWasReleased(_ position: Position) {
        if position.handles == 0, position.pauses > 0 { resume(position) }
        if position.isSource, position.completers == 0, position.waitsFor.isEmpty {
            inLine { settle(position, .abandoned, $0) }
        }
    }

    // MARK: Finalizers (Z1 to Z3)

    func addFinalizer(_ id: Int, _ position: Position) {
        guard let outcome = position.outcome else { return position.finalizers.append(id) }
        endingOf[id] = running
        runFinalizer(id, outcome)
    }

    private func beginEnding(of position: Position, _ outcome: Outcome) {
        endingCount += 1
        let ending = Ending(endingCount, outcome, position)
        for id in position.finalizers { endingOf[id] = ending }
        position.finalizers = []
        join(position, [ending])
    }

    private func join(_ position: Position, _ endings: [Ending]) {
        for ending in endings where !position.endings.contains(where: { $0 === ending }) {
            position.endings.append(ending)
            ending.open.append(position)
        }
    }

    /// A position is settled, and all its consumers are notified.
    private func leave(_ position: Position) {
        let endings = position.endings
        position.endings = []
        for ending in endings { ending.open.removeAll { $0 === position } }
        // One further downstream began later.
        let over = endings.sorted { $0.number > $1.number }.filter { $0.open.isEmpty }
        if over.contains(where: { $0.finalizers.contains { !table.finalizers[$0]!.isEmpty } }),
            !zip(over, over.dropFirst()).allSatisfy({ $0.isBelow($1) })
        {
            leftOpen = "finalizers that do something end together, and neither is downstream"
        }
        let outer = running
        for ending in over {
            running = ending
            for id in ending.finalizers.reversed() { runFinalizer(id, ending.outcome) }
        }
        running = outer
    }

    // MARK: Lists (D1 to D3)

    func list(_ inputs: [Position], _ rule: Rule) -> Position {
        let list = List(rule, inputs.count)
        list.position.waitsFor = inputs
        if inputs.isEmpty {
            inLine {
                decide(list, rule == .results || rule == .values ? .value(0) : .other("empty"), nil, $0)
            }
        }
        for (index, input) in inputs.enumerated() {
            let consumer = Consumer(.input(of: list, index))
            list.inputs.append(consumer)
            attach(consumer, to: input)
        }
        if list.position.outcome != nil { for input in list.inputs { detach(input) } }
        return list.position
    }

    private func receive(_ outcome: Outcome, of input: Position, _ index: Int, _ list: List, _ line: Line) {
        guard list.position.outcome == nil else { return }
        list.outcomes[index] = outcome
        let isLast = !list.outcomes.contains(nil)
        let isValue = if case .value = outcome { true } else { false }
        switch list.rule {
        case .firstSettled: decide(list, outcome, input, line)
        case .first where isValue || isLast, .values where !isValue: decide(list, outcome, input, line)
        case .results where isLast, .values where isLast: decide(list, .value(0), input, line)
        default: break
        }
    }

    /// V3: what is decided has no inputs any more.
    private func decide(_ list: List, _ outcome: Outcome, _ input: Position?, _ line: Line) {
        settle(list.position, outcome, after: input, line)
        if list.inputs.count == list.outcomes.count { for input in list.inputs { detach(input) } }
    }
}
