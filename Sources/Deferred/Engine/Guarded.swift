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
        defer {
            keepRetainsBefore()
            isLocked.store(false, ordering: .releasing)
        }
        return try body(&value)
    }
}

/// To stand before a store that lets a lock go.
///
/// The optimiser moves retains down past stores, which it holds to be harmless, and an atomic store is one to
/// it: what was found under the lock, or put into a list there, would be retained after the lock, when
/// another thread may have let go of it already. It moves nothing past a fence. This one orders no more than
/// the store after it does; on x86 it is no instruction, on ARM a barrier.
@inline(__always)
func keepRetainsBefore() {
    atomicMemoryFence(ordering: .releasing)
}
