internal import Foundation

#if canImport(Darwin)
internal import os
#endif

/// A value behind a lock: the one kind of lock of this module. Waiting threads sleep, so a critical section
/// may write to a file. It runs nothing of a user's: no closure, no `deinit`, no `==`.
///
/// On Apple platforms a waiting thread donates its priority to the owner. On Linux, threads of ordinary
/// scheduling have none to donate, and this is a POSIX mutex: ThreadSanitizer does not see the slow path of
/// `Synchronization.Mutex` there, and reports races in correct code.
///
/// Sound as `@unchecked Sendable`: `value` is accessed only between lock and unlock. The mutex is initialised
/// before this object is shared, never moves, and is destroyed with it.
final class Locked<Value: ~Copyable>: @unchecked Sendable {
    private var value: Value
    #if canImport(Darwin)
    private let mutex = OSAllocatedUnfairLock()

    init(_ value: consuming Value) { self.value = value }
    #else
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init(_ value: consuming Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }
    #endif

    /// Runs `body` with exclusive access to the value.
    func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        #if canImport(Darwin)
        mutex.lock()
        defer { mutex.unlock() }
        #else
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        #endif
        return try body(&value)
    }
}
