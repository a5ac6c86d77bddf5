internal import CInterleaving

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#endif

// These take the place of the C library's functions in the module: a fiber is a thread, with slots of its own
// for thread-specific values, and a mutex is a lock of the scheduler's.

#if canImport(Darwin)
func pthread_self() -> UInt { il_thread() }
#else
func pthread_self() -> pthread_t { il_thread() }
#endif

func pthread_getspecific(_ key: pthread_key_t) -> UnsafeMutableRawPointer! { il_slot_get(UInt32(key)) }

@discardableResult
func pthread_setspecific(_ key: pthread_key_t, _ value: UnsafeRawPointer!) -> CInt {
    il_slot_set(UInt32(key), UnsafeMutableRawPointer(mutating: value))
    return 0
}

/// The mutex has the scheduler's cell in its first word.
@discardableResult
func pthread_mutex_init(
    _ mutex: UnsafeMutablePointer<pthread_mutex_t>, _: UnsafePointer<pthread_mutexattr_t>!
) -> CInt {
    cell(of: mutex).pointee = il_cell_new()
    return 0
}

@discardableResult
func pthread_mutex_destroy(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> CInt {
    il_cell_end(cell(of: mutex).pointee)
    return 0
}

@discardableResult
func pthread_mutex_lock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> CInt {
    let locked = cell(of: mutex).pointee
    il_lock(locked)
    locked.storeBytes(of: 1, as: UInt8.self)
    return 0
}

@discardableResult
func pthread_mutex_unlock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> CInt {
    let locked = cell(of: mutex).pointee
    il_point(locked, IL_WRITE)
    locked.storeBytes(of: 0, as: UInt8.self)
    return 0
}

private func cell(
    of mutex: UnsafeMutablePointer<pthread_mutex_t>
) -> UnsafeMutablePointer<UnsafeMutableRawPointer> {
    UnsafeMutableRawPointer(mutex).assumingMemoryBound(to: UnsafeMutableRawPointer.self)
}
