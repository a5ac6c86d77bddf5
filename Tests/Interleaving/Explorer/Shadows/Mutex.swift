internal import CInterleaving

/// Takes the place of `Synchronization.Mutex` in the module: a fiber that waits for it is not scheduled.
///
/// Sound as `@unchecked Sendable`: one fiber runs at a time, and switches only at scheduling points.
struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let lock = il_cell_new()
    private let value: UnsafeMutablePointer<Value>

    init(_ initial: consuming Value) {
        value = .allocate(capacity: 1)
        value.initialize(to: initial)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        il_cell_end(lock)
    }

    borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        il_lock(lock)
        lock.storeBytes(of: 1, as: UInt8.self)
        defer {
            il_point(lock, IL_WRITE)
            lock.storeBytes(of: 0, as: UInt8.self)
        }
        return try body(&value.pointee)
    }
}
