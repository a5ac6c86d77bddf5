/// The contract, told again as slowly and plainly as can be: one thread, arrays, no locks, nothing freed
/// early. Written from the rules and not from the engine, so that where the two differ one of them is wrong.
///
/// The rules leave some things open. Where they name what is allowed, `optionalReports` and `isOrdered` say
/// so; where they say nothing, `undetermined` ends the comparison.
///
/// One choice is made here that the rules leave open: firings go in breadth. What one firing sets off is a
/// queue of Deferreds to be told about; a callback that fires another Deferred has a queue of its own (F5).
final class Model: Machine {
    /// One position, or source, or something that waits: whatever can be attached and have an outcome.
    final class Node {
        enum State {
            /// Fired by hand, by a list, or by what it follows.
            case source
            /// Waits for another, or for its turn there.
            case waiting(for: Node)
            /// Its dispatcher has it.
            case handedOver
            /// Its callback runs.
            case running
            case settled
        }

        /// What is to be done at its turn.
        enum Work {
            case nothing
            case callback(Callback, CallbackBody)
            case adopt
            case watch(List, Int)
            case forward(to: Node)
        }

        let made: Int
        var state: State
        var work: Work
        var outcome: Outcome?
        /// Those that wait and have not been told, in order. All of them are consumers.
        var attached: [Node] = []
        var isBeingTold = false
        var tellingHasBegun = false
        var pauses = 0
        /// What came of callbacks that were told before a pause.
        var heldBack: [Task] = []

        var handles = 0
        /// Handles and resolvers that could fire it.
        var firers = 0
        var firedFirst: Int?
        var canceller: ((Trigger) -> Void)?
        var isCancelled = false
        var isInCanceller = false
        var swallowsLateResult = false
        /// What makes it follow others.
        var following: [Node] = []
        var list: List?

        var cancelIsPending = false
        var isShield = false
        /// Its failure has reached somebody.
        var isHandled = false
        /// It was a dispatcher that let go of its callback.
        var isLostByDispatcher = false
        var finalizers: [(id: Int, body: (Outcome) -> Void)] = []
        /// Those whose end waits for this one.
        var scopes: [Scope] = []

        init(_ made: Int, _ state: State, _ work: Work = .nothing) {
            self.made = made
            self.state = state
            self.work = work
        }

        func waits(for other: Node) -> Bool {
            if case .waiting(let upstream) = state { upstream === other } else { false }
        }

        var isSource: Bool {
            if case .source = state { true } else { false }
        }
    }

    /// What one thread does in one go, in turn.
    final class Frame {
        var queue: [Task] = []
    }

    enum Task {
        case tell(Node)
        case cancelInputs(List)
    }

    final class List {
        let node: Node
        let rule: ListRule
        let options: ListOptions
        var outcomes: [Outcome?]
        var watches: [Node] = []
        var isStarting = true

        init(_ node: Node, _ rule: ListRule, _ options: ListOptions, count: Int) {
            self.node = node
            self.rule = rule
            self.options = options
            outcomes = Array(repeating: nil, count: count)
        }
    }

    /// The finalizers of one firing, and who has not finished with what follows from it (Z1).
    final class Scope {
        let number: Int
        let outcome: Outcome
        let finalizers: [(id: Int, body: (Outcome) -> Void)]
        let enclosing: [Scope]
        var open: [Node] = []

        init(_ number: Int, _ node: Node, _ outcome: Outcome) {
            self.number = number
            self.outcome = outcome
            finalizers = node.finalizers
            enclosing = node.scopes
        }

        func isInside(_ other: Scope) -> Bool {
            enclosing.contains { $0 === other || $0.isInside(other) }
        }
    }

    struct Work {
        let node: Node
        let callback: Callback
        let body: CallbackBody
        let outcome: Outcome
        /// Whose outcome it is.
        let upstream: Node
    }

    /// Why the rules say no more about what happens from here on.
    var undetermined: String?
    private(set) var optionalReports: [Report] = []
    var nodes: [Node] = []
    var reports: [Report] = []
    var works: [Work] = []
    var scopeCount = 0
    var scopeOfFinalizer: [Int: Scope] = [:]
    private var failed: [Node] = []

    func make(_ made: Int, _ state: Node.State, _ work: Node.Work = .nothing) -> Node {
        let node = Node(made, state, work)
        nodes.append(node)
        return node
    }

    /// Does `body` and then, in turn, what it set off.
    func inFrame(_ body: (Frame) -> Void) {
        let frame = Frame()
        body(frame)
        while !frame.queue.isEmpty {
            switch frame.queue.removeFirst() {
            case .tell(let node): tell(node, in: frame)
            case .cancelInputs(let list): cancelInputs(of: list, in: frame)
            }
        }
    }

    // MARK: Reports (U1)

    func collectingReports(_ body: () -> Void) -> [Report] {
        reports = []
        body()
        failed = failed.filter { node in
            guard node.handles == 0, !node.isBeingTold, node.attached.isEmpty else { return true }
            guard !node.isHandled, case .failure(let fault)? = node.outcome, fault != .cancelled else {
                return false
            }
            // "… nor an abandonment that nobody waited for": open, where a dispatcher lost the callback.
            let report = Report.unhandled(fault, made: node.made)
            if node.isLostByDispatcher { optionalReports.append(report) } else { reports.append(report) }
            return false
        }
        return reports
    }

    func noteFailure(of node: Node) { failed.append(node) }

    /// The rules don't say whether this failure was handled.
    func leaveOpen(_ node: Node) {
        guard case .failure(let fault)? = node.outcome else { return }
        optionalReports.append(.unhandled(fault, made: node.made))
    }

    /// Whether the finalizer `first` must run before `second`, where both run at the same time (Z2).
    func isOrdered(_ first: Int, _ second: Int) -> Bool {
        guard let a = scopeOfFinalizer[first], let b = scopeOfFinalizer[second] else { return true }
        return a === b || a.isInside(b)
    }
}
