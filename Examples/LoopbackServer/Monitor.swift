#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// State behind a lock, with a way to wait until it is as wanted.
///
/// A POSIX mutex and condition, because those are what ThreadSanitizer understands on every platform.
///
/// `@unchecked Sendable` is sound: `state` is read and written only by `withLock` and `wait`, both of which
/// hold the mutex; the two pointers never change after `init` and are freed only when nobody holds the
/// monitor.
final class Monitor<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    init(_ state: State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` with the state to itself, and wakes whoever waits for a change of it.
    func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return try body(&state)
    }

    /// Blocks until `condition` is true of the state.
    func wait(until isSatisfied: (State) -> Bool) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isSatisfied(state) { pthread_cond_wait(condition, mutex) }
    }
}
