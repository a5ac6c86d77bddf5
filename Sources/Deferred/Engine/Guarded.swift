internal import Synchronization

/// A value behind a lock that is held for a few nanoseconds: never across a closure of a user's, or while a
/// user's object is let go.
///
/// `Synchronization.Mutex` would do, but ThreadSanitizer on Linux does not see its slow path and reports
/// races in correct code; it does see these atomics.
///
/// Sound as `@unchecked Sendable`: `value` is touched only between the acquiring exchange that sets
/// `isLocked` and the releasing store that clears it; so accesses never overlap, and need not be checked for
/// it.
package final class Guarded<Value>: @unchecked Sendable {
    private let isLocked = Atomic<Bool>(false)
    @exclusivity(unchecked) private var value: Value

    package init(_ value: consuming sending Value) {
        self.value = value
    }

    /// Runs `body` with the value, alone.
    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
        var backoff = Backoff()
        while !isLocked.weakCompareExchange(expected: false, desired: true, ordering: .acquiring).exchanged {
            backoff.pause()
        }
        defer { isLocked.store(false, ordering: .releasing) }
        return try body(&value)
    }
}
