#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// State behind an exclusive lock on which waiting threads sleep. The engine's locks spin and are held for
/// nanoseconds; this one is held while a registry is sorted or compacted, or while a writer writes.
///
/// Not `Synchronization.Mutex`: when it is contended on Linux the kernel passes it on, which ThreadSanitizer
/// does not see, so that correct code is reported as racing. The sanitizer understands a pthread mutex, which
/// puts waiting threads to sleep on every platform and costs the same when uncontended.
///
/// No code from outside the module may run inside: no delivery, no dispatcher's `==`, no `deinit`. What a
/// critical section takes out of the state is therefore returned by it and released by the caller, after the
/// lock; and a weak reference is never loaded inside, since releasing it may deallocate its object.
///
/// Soundness of `@unchecked Sendable`: the two pointers never change, what they point to lives until
/// `deinit`, which runs when no caller is left; the state is touched only between lock and unlock.
struct LockedState<State>: ~Copyable, @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let state = UnsafeMutablePointer<State>.allocate(capacity: 1)

    init(_ initial: sending State) {
        mutex.initialize(to: pthread_mutex_t())
        let failure = pthread_mutex_init(mutex, nil)
        if failure != 0 { fatalError("no memory for another lock (pthread_mutex_init: \(failure))") }
        state.initialize(to: initial)
    }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deinitialize(count: 1)
        mutex.deallocate()
    }

    func withLock<Result: ~Copyable>(_ body: (inout State) -> sending Result) -> sending Result {
        lock()
        defer { unlock() }
        return body(&state.pointee)
    }

    /// For a critical section that doesn't fit a closure; the same thread unlocks.
    ///
    /// Tries a few times before the thread sleeps, as the sections are short.
    func lock() {
        for _ in 0..<64 where pthread_mutex_trylock(mutex) == 0 { return }
        pthread_mutex_lock(mutex)
    }

    func unlock() {
        pthread_mutex_unlock(mutex)
    }
}
