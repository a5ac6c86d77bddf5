import Deferred

/// Everything of which there can be many, and what can be done to it.
let allShapes: [Shape] =
    chains + nesting + lists + limitedLists + pauses + coordination + queues + caches + timers + multicast
    + delegates

struct Failed: Error {}

typealias Source = (deferred: Deferred<Int>, resolver: Deferred<Int>.Resolver)

func sources(_ n: Int) -> [Source] { (0..<n).map { _ in Deferred<Int>.withResolver() } }

extension Deferred {
    /// Makes sure that no failure is reported: a report is text, which takes longer than anything here.
    func quiet() { fail { _ in } }
}

/// The shapes of one thing in each order.
func inEachOrder(
    _ name: String,
    _ run: @escaping @Sendable (_ n: Int, _ order: [Int], _ meter: inout Meter) -> Void
) -> [Shape] {
    Order.allCases.map { order in
        Shape("\(name), \(order.rawValue)") { n, meter in
            run(n, order.of(n), &meter)
        }
    }
}

/// Things that wait, made and then cancelled in each order, completed and released.
func waiting<Value: Sendable>(
    _ name: String, _ make: @escaping @Sendable (_ n: Int) -> [Deferred<Value>]
) -> [Shape] {
    inEachOrder("\(name), cancelled") { n, order, meter in
        var all = meter("attached") { make(n) }
        meter("cancelled") { for index in order { all[index].cancel() } }
        for deferred in all { deferred.quiet() }
        meter("released") { all = [] }
    }
}
