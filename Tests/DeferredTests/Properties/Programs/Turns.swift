import Foundation

/// Threads of which one runs at a time, and passes the turn on where its program says so.
///
/// Sound as `@unchecked Sendable`: whoever has the turn alone uses the properties; the semaphores order that.
final class Turns: @unchecked Sendable {
    private var random: SplitMix64
    private var current = 0
    private var waiting: [Int]
    private let gates: [DispatchSemaphore]

    init(_ count: Int, seed: UInt64) {
        random = SplitMix64(seed)
        waiting = Array(1..<count)
        gates = (0..<count).map { _ in DispatchSemaphore(value: 0) }
    }

    /// Passes the turn to another thread, by chance.
    @Sendable func pass() {
        if waiting.isEmpty || random.next() % 3 != 0 { return }
        let (own, next) = (current, Int(random.next() % UInt64(waiting.count)))
        current = waiting[next]
        waiting[next] = own
        gates[current].signal()
        gates[own].wait()
    }

    /// Runs both and returns when they have ended.
    func run(_ bodies: [() -> Void]) {
        let ended = DispatchSemaphore(value: 0)
        for (number, body) in bodies.enumerated() {
            nonisolated(unsafe) let body = body
            let thread = Thread { [self] in
                gates[number].wait()
                body()
                if let next = waiting.popLast() {
                    current = next
                    gates[next].signal()
                }
                ended.signal()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
        gates[0].signal()
        for _ in bodies { ended.wait() }
    }
}
