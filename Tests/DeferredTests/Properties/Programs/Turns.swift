import Foundation

/// Two threads of which one runs at a time, and passes the turn on where its program says so.
///
/// Sound as `@unchecked Sendable`: whoever has the turn alone uses the properties; the semaphores order that.
final class Turns: @unchecked Sendable {
    private var random: SplitMix64
    private var current = 0
    private var hasEnded = [false, false]
    private let gates = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]

    init(seed: UInt64) { random = SplitMix64(seed) }

    /// Passes the turn to the other thread, by chance.
    @Sendable func pass() {
        let (own, other) = (current, 1 - current)
        if hasEnded[other] || random.next() % 3 != 0 { return }
        current = other
        gates[other].signal()
        gates[own].wait()
    }

    /// Runs both and returns when they have ended.
    func run(_ bodies: [() -> Void], _ end: () -> Void) {
        let ended = DispatchSemaphore(value: 0)
        for (number, body) in bodies.enumerated() {
            nonisolated(unsafe) let body = body
            let thread = Thread { [self] in
                gates[number].wait()
                body()
                hasEnded[number] = true
                current = 1 - number
                gates[1 - number].signal()
                ended.signal()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
        gates[0].signal()
        ended.wait()
        ended.wait()
        end()
    }
}
