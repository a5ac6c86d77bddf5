/// The contract, implemented as slowly and plainly as possible: one thread, arrays, no locks, nothing freed
/// early. Written from the rules and not from the engine, so that where the two differ one of them is wrong.
///
/// The rules leave some things open: there, `undetermined` ends the comparison.
///
/// The model makes a choice that the rules leave open. Completions proceed in breadth: what one completion
/// causes is a queue of Deferreds whose consumers are to be notified, and a callback that completes another
/// Deferred has a queue of its own (F5).
final class Model: Machine {
    /// A position, a source or an observer: anything that can be attached and have an outcome.
    final class Node {
        enum State {
            /// Completed explicitly, by a list, or by what it follows.
            case source
            /// Waits for another, or to be notified by it.
            case waiting(for: Node)
            /// Submitted to its dispatcher.
            case dispatched
            /// A cancel has detached it: it is about to receive the cancellation.
            case detached
            /// Its callback runs.
            case running
            case settled
        }

        /// The work to do when it is notified.
        enum Work {
            case nothing
            /// Continues to be a consumer, and does nothing with the outcome.
            case ignore
            case callback(Callback, CallbackBody)
            case adopt
            case observer(List, Int)
            case forward(to: Node)
            case resume((ModelOutcome) -> Void)
        }

        let made: Int
        var state: State
        var work: Work
        var outcome: ModelOutcome?
        /// The consumers that have not been notified, in order.
        var attached: [Node] = []
        var isDraining = false
        var drainingHasBegun = false
        var pauses = 0
        /// Tasks caused by callbacks that ran before a pause.
        var suspendedTasks: [Task] = []

        var handles = 0
        /// The number of handles and resolvers that could complete it.
        var completers = 0
        var settledFirst: Int?
        var canceller: ((Trigger) -> Void)?
        /// A cancel came up to it while it was pending; and one has, that was not answered yet (C5).
        var isCancelled = false
        var isBeingCancelled = false
        var isInCanceller = false
        /// The thread that runs its callback or its canceller, or that has detached it; and the one that notifies its
        /// consumers.
        var activeThread = 0
        var drainingThread = 0
        var dropsLateResult = false
        /// The links through which it follows others.
        var following: [Node] = []
        var list: List?

        /// It receives `CancellationError` instead of the outcome when it is dequeued.
        var cancelIsPending = false
        /// The number of cancels that began here and have not taken effect yet.
        var openCancels = 0
        /// A cancel has passed it on its way to the nested Deferred that it waits for.
        var cancelsNested = false
        /// U1 leaves open whether its failure is that of work that was cancelled.
        var mayBeUnreported = false
        /// Others that are cancelled with it, as one, have gone before it.
        var cameLater = false
        /// The roots of the cancels that wait here for a callback or a canceller to end, or for what a source follows.
        var requests: [Node] = []
        /// Its canceller runs, or is about to.
        var isClaimed = false
        /// It is about to be settled with the outcome of what it follows.
        var isTaken = false
        /// Its work is being submitted: a release of that work takes effect when the submission ends, or at once.
        var isSubmitting = false
        var isDropped = false
        /// It follows for a source, and the cancel of that one began again with it.
        var isCancelledFollower = false
        var isShield = false
        /// It receives the outcome, but no longer counts as a consumer: what it observed for is over (V3).
        var onlyObserves = false
        /// Its failure counts as handled.
        var isHandled = false
        /// Its failure is one of work that was cancelled: it is never reported (U1).
        var wasCancelled = false
        var finalizers: [Finalizer] = []
        /// It is being attached: the captures of its callback are released at the end of that call.
        var isAttaching = false
        /// Its callback is released when that call returns.
        var isReleased = false
        /// The actions to perform when its callback is released.
        var atEnd: (() -> Void)?
        /// Its resolvers, including a canceller's own.
        var resolvers = 0
        /// Whether its handles may complete it.
        var isCompletedByHandles = false
        /// The nodes that cannot finish before this one.
        var scopes: [Scope] = []
        /// What a cancel has detached from this one, which was paused, is in this scope.
        var scopeOfDetached: Scope?

        init(_ made: Int, _ state: State, _ work: Work = .nothing) {
            self.made = made
            self.state = state
            self.work = work
        }

        var isCancelRequested: Bool { openCancels > 0 }

        /// One of the cancels that began here has taken effect.
        func endCancel() { openCancels = max(0, openCancels - 1) }

        /// What it waits for.
        var upstream: Node? { if case .waiting(let upstream) = state { upstream } else { nil } }

        func waits(for other: Node) -> Bool { upstream === other }

        /// Whether it receives for a list that has been settled: a cancel of it has no meaning any more.
        var observesSettledList: Bool {
            if case .observer(let list, _) = work { list.node.outcome != nil } else { false }
        }

        var isSource: Bool {
            if case .source = state { !isTaken } else { false }
        }
    }

    /// A queue of tasks.
    final class DrainLoop {
        var queue: [Task] = []
        /// Whether a cancel is in progress: others, that follow from it, wait for it in `roots`.
        var isCancelling = false
        var cancelsSeveral = false
        var roots: [(node: Node, isNew: Bool)] = []
        /// The sources whose cancellers are to run, and the consumers that are to receive the cancellation.
        var claimed: [Node] = []
        /// Each with a node that stands for what it would have been notified by, in whose scopes it is.
        var detached: [(node: Node, upstream: Node)] = []
        /// Those with finalizers, and without consumers, that are settled.
        var ended: [Node] = []
        /// The sources that the cancel retains.
        var retained: [Node] = []
    }

    enum Task {
        case drain(Node)
        case cancelInputs(List)
        case leave([Node])
        case startInputs(List)
    }

    final class List {
        let node: Node
        let rule: ListRule
        let options: ListOptions
        var outcomes: [ModelOutcome?]
        var observers: [Node] = []
        var isStarting = true
        /// For a list with a limit: the input of an index, how many more may be in progress, and how many have begun.
        var body: ((Int) -> Handle?)?
        var free = 0
        var begun = 0
        /// An input has decided the outcome, unless a cancel comes first.
        var isDecided = false
        /// A thread is about to settle the list's Deferred.
        var isTaken = false
        /// What is below the list, if that was cancelled, is in this scope.
        var scopeBelow: Scope?

        init(_ node: Node, _ rule: ListRule, _ options: ListOptions, count: Int) {
            self.node = node
            self.rule = rule
            self.options = options
            outcomes = Array(repeating: nil, count: count)
        }
    }

    /// The finalizers of one completion, and the unfinished nodes that it caused (Z1).
    final class Scope {
        let number: Int
        let outcome: ModelOutcome
        let finalizers: [Finalizer]
        var enclosing: [Scope]
        var open: [Node] = []
        /// Unfinished until this scope has ended: see ``Model/hold(_:in:)``.
        var holder: Node?

        init(_ number: Int, _ node: Node, _ outcome: ModelOutcome) {
            self.number = number
            self.outcome = outcome
            finalizers = node.finalizers
            enclosing = node.scopes
        }

        /// One without finalizers, in which others are held.
        init(_ number: Int, holder: Node) {
            self.number = number
            self.holder = holder
            outcome = .failure(.cancelled)
            (finalizers, enclosing) = ([], [])
        }

        func isInside(_ other: Scope) -> Bool {
            enclosing.contains { $0 === other || $0.isInside(other) }
        }
    }

    struct Finalizer {
        let id: Int
        let acts: Bool
        let body: (ModelOutcome) -> Void
    }

    struct Work {
        let node: Node
        let callback: Callback
        let body: CallbackBody
        var outcome: ModelOutcome
        /// The node whose outcome it is.
        let upstream: Node
    }

    /// Lets other threads act, before an atomic step.
    var pass: () -> Void = {}
    /// Returns a number below that, where the rules leave open what happens.
    var choose: (Int) -> Int = { _ in 0 }
    /// Called when a Deferred with handles is settled.
    var didSettle: (_ made: Int, ModelOutcome) -> Void = { _, _ in }
    /// Whether threads release handles while others use them.
    var releasesHandles = false
    /// Whether threads pause what others complete.
    var pauses = false
    /// Whether there are other threads, so that what a thread waits for may come.
    var hasThreads = false
    /// Whether a recording is active, so that threads may act between the beginning of a callback and its body.
    var isRecorded = false
    /// The number of the thread that acts.
    var currentThread: () -> Int = { 0 }

    /// Why the rules do not determine the behaviour from here on.
    var undetermined: String?
    var nodes: [Node] = []
    var reports: [ModelReport] = []
    var works: [Work] = []
    /// The work of the dispatcher that may be released, and how many references other than of links it has.
    var releasedWorks: [Work] = []
    var dispatcherReferences = 1
    var isDispatcherRetained = true
    var timers: [TimeLimit] = []
    var scopeCount = 0
    private var failed: [Node] = []

    func make(_ made: Int, _ state: Node.State, _ work: Node.Work = .nothing) -> Node {
        let node = Node(made, state, work)
        nodes.append(node)
        return node
    }

    /// Runs `body` and then the tasks that it caused, in order.
    func inDrainLoop(_ body: (DrainLoop) -> Void) {
        let loop = DrainLoop()
        body(loop)
        while !loop.queue.isEmpty {
            switch loop.queue.removeFirst() {
            case .drain(let node):
                drain(node, in: loop)
            case .cancelInputs(let list):
                pass()
                cancelInputs(of: list, in: loop)
            case .leave(let observers):
                leave(observers)
            case .startInputs(let list):
                startInputs(of: list, in: loop)
            }
        }
    }

    // MARK: Reports (U1)

    /// All reports, with those of failures that nothing can handle any more.
    func collectReports() -> [ModelReport] {
        failed = failed.filter { node in
            guard node.handles == 0, !node.isDraining, node.attached.isEmpty else { return true }
            guard !node.isHandled, case .failure(let fault)? = node.outcome, fault != .cancelled else {
                return false
            }
            reports.append(ModelReport.unhandled(fault, made: node.made))
            return false
        }
        return reports
    }

    func noteFailure(of node: Node) { failed.append(node) }

    /// The rules do not determine whether this failure was handled.
    func leaveOpen(_ node: Node) {
        if case .failure? = node.outcome { node.isHandled = true }
    }
}

extension Model {
    /// Breaks the cycles of references that are left at the end of a program.
    func forget() {
        for node in nodes {
            node.state = .settled
            node.work = .nothing
            (node.attached, node.following, node.list) = ([], [], nil)
            (node.canceller, node.finalizers, node.scopes, node.suspendedTasks) = (nil, [], [], [])
            node.scopeOfDetached = nil
        }
        (works, releasedWorks, timers) = ([], [], [])
    }
}
