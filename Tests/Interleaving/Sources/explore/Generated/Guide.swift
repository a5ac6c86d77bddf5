/// What a run of the model is to become: after the first event that has no place in that, other continuations of the run
/// need not be searched.
final class Guide {
    private let aim: Observation
    private let results: [Int: ModelOutcome?]
    private var events: [ModelEvent: Int]
    private let orders: [RealTimeOrder]
    /// Whether the run cannot become it any more.
    private(set) var isLost = false

    /// - Parameter orders: Those of operations of which the run is to have one.
    init(to aim: Observation, in orders: [RealTimeOrder]) {
        self.aim = aim
        results = Dictionary(uniqueKeysWithValues: zip(aim.outcomes, aim.results))
        events = aim.events.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        self.orders = orders
    }

    func add(_ event: ModelEvent) {
        events[event, default: 0] -= 1
        if events[event]! < 0 { isLost = true }
    }

    /// A Deferred with a handle is settled.
    func settle(_ id: Int, _ outcome: ModelOutcome) {
        if let result = results[id], result != outcome { isLost = true }
    }

    /// The last of these callbacks of one Deferred begins, when those above it have run.
    func add(_ callbacks: [Int], above: [Int]?, of target: Int) {
        let aim = aim.callbacks[target] ?? Array(callbacks.prefix(1))
        if !aim.starts(with: callbacks) || above?.sorted() != self.aim.callbacksAbove[callbacks.last!] {
            isLost = true
        }
    }

    func begin(_ thread: Int, _ index: Int, _ order: RealTimeOrder) {
        if !orders.contains(where: { $0.permits(thread, index, after: order) }) { isLost = true }
    }
}
