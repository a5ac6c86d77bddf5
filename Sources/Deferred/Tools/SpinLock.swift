internal import Synchronization

/// A value behind a spin lock, for short critical sections that run nothing of a user's: no closure, no
/// deinit, no `==` or `hash`.
///
/// Some sections copy an array or dictionary of the library's own, and take as long as that. A waiting thread
/// spins, yields, and then sleeps (``Backoff``).
///
/// `Synchronization.Mutex` would do, but ThreadSanitizer on Linux does not see its slow path and reports
/// races in correct code; it does see these atomics.
///
/// Sound as `@unchecked Sendable`: `value` is touched only between the acquiring exchange that sets the lowest
/// bit of `lock` and the releasing store that clears it; so accesses never overlap, and need not be checked for
/// it.
package final class SpinLocked<Value>: @unchecked Sendable {
    private let lock = Atomic<UInt>(0)
    @exclusivity(unchecked) private var value: Value

    package init(_ value: consuming sending Value) {
        self.value = value
    }

    /// Runs `body` with exclusive access to the value.
    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
        _ = lock.lockLowestBit()
        defer {
            keepRetainsBefore()
            lock.store(0, ordering: .releasing)
        }
        return try body(&value)
    }
}

extension SpinLocked where Value: Sendable {
    /// Replaces the value by what `change` returns for it, and returns the value before, which is therefore not
    /// released under the lock.
    package func exchange(_ change: (Value) -> Value) -> Value {
        withLock { value in
            let before = value
            value = change(before)
            return before
        }
    }
}

/// Keeps the optimiser from moving a retain past the store that releases a lock.
///
/// It moves retains down past stores, atomic ones included: an object found under the lock would be retained
/// after it, when another thread may have deallocated the object. It moves nothing past a fence. This fence
/// orders no more than the store after it does. On x86 it is no instruction, on ARM a barrier.
@inline(__always)
func keepRetainsBefore() {
    atomicMemoryFence(ordering: .releasing)
}

#if !INTERLEAVING  // Tests/Interleaving replaces this with a lock that its scheduler controls.
extension Atomic where Value == UInt {
    /// Takes the spin lock in the lowest bit and returns the other bits.
    ///
    /// Unlocked by a releasing store with the lowest bit clear. Acquiring here and releasing there order
    /// everything that happens under the lock.
    @inline(__always)
    func lockLowestBit() -> UInt {
        let seen = load(ordering: .relaxed) & ~1
        if compareExchange(expected: seen, desired: seen | 1, ordering: .acquiring).exchanged { return seen }
        return lockLowestBitContended()
    }

    @inline(never)
    private func lockLowestBitContended() -> UInt {
        var backoff = Backoff()
        while true {
            let seen = load(ordering: .relaxed)
            if seen & 1 == 0,
                compareExchange(expected: seen, desired: seen | 1, ordering: .acquiring).exchanged
            {
                return seen
            }
            backoff.pause()
        }
    }
}
#endif
