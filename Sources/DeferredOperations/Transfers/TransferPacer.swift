internal import Deferred
internal import Foundation

/// Limits how many bytes of bodies a session takes in per second, over all its transfers.
///
/// The delegate's call is delayed after each piece of a body for as long as the piece takes at that rate.
/// Nothing is read from the network meanwhile, so that TCP slows the servers down, and no memory is used.
///
/// Sound as `@unchecked Sendable`: the variables are accessed only under `lock`.
final class TransferPacer: @unchecked Sendable {
    private let bytesPerSecond: Double
    private let lock = NSLock()
    /// When the bytes taken so far are due at the rate.
    private var due = ContinuousClock.now
    private let delayedCalls: SpinLocked<Int>

    /// How often a delayed call checks whether its transfer is still running, in seconds.
    private static let checkInterval = 0.05

    init(bytesPerSecond: Int64) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        #if canImport(FoundationNetworking)
        delayedCalls = Self.allDelayedCalls
        #else
        delayedCalls = SpinLocked(0)
        #endif
    }

    #if canImport(FoundationNetworking)
    /// One queue serves all sessions of a process, so that a delay is one of all of them.
    private static let allDelayedCalls = SpinLocked(0)
    #endif

    /// Whether a delegate's call is delayed that keeps the transfers of `session` from receiving anything: they are not
    /// silent.
    static func isDelaying(_ session: TransferSession) -> Bool {
        #if canImport(FoundationNetworking)
        allDelayedCalls.withLock { $0 > 0 }
        #else
        session.pacer.map { $0.delayedCalls.withLock { $0 > 0 } } ?? false
        #endif
    }

    /// Calls `receive` with `byteCount` bytes that have arrived, and returns when they are due, or when `isWanted` returns
    /// false.
    func pace(_ byteCount: Int, while isWanted: () -> Bool, _ receive: () -> Void) {
        delayedCalls.withLock { $0 += 1 }
        defer { delayedCalls.withLock { $0 -= 1 } }
        receive()
        let end = lock.withLock {
            due = max(due, .now) + .seconds(Double(byteCount) / bytesPerSecond)
            return due
        }
        while true {
            let left = (end - .now) / .seconds(1)
            guard left > 0, isWanted() else { return }
            Thread.sleep(forTimeInterval: min(left, Self.checkInterval))
        }
    }
}
