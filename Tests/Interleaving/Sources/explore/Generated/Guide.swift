/// What a run of the model is to become: after the first event that has no place in that, other continuations of the run
/// need not be searched.
final class Guide {
    private var events: [ModelEvent: Int]
    private let orders: [RealTimeOrder]
    /// Whether the run cannot become it any more.
    private(set) var isLost = false

    /// - Parameter orders: Those of operations of which the run is to have one.
    init(to observation: Observation, in orders: [RealTimeOrder]) {
        events = observation.events.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        self.orders = orders
    }

    func add(_ event: ModelEvent) {
        events[event, default: 0] -= 1
        if events[event]! < 0 { isLost = true }
    }

    func begin(_ thread: Int, _ index: Int, _ order: RealTimeOrder) {
        if !orders.contains(where: { $0.permits(thread, index, after: order) }) { isLost = true }
    }
}
