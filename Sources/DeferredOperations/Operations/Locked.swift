internal import Foundation

/// A value behind a lock: the one kind of lock of this module. Waiting threads sleep, so a critical section
/// may write to a file. It runs nothing of a user's: no closure, no `deinit`, no `==`.
///
/// `NSLock` is a POSIX mutex. On Apple platforms a waiting thread donates its priority to the owner; on Linux,
/// threads of ordinary scheduling have none to donate. ThreadSanitizer does not see the slow path of
/// `Synchronization.Mutex` there, and reports races in correct code.
///
/// Sound as `@unchecked Sendable`: `value` is accessed only between lock and unlock.
final class Locked<Value: ~Copyable>: @unchecked Sendable {
    private var value: Value
    private let lock = NSLock()

    init(_ value: consuming Value) { self.value = value }

    /// Runs `body` with exclusive access to the value.
    func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
