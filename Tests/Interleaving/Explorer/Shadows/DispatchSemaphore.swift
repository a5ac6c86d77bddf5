internal import CInterleaving
internal import Dispatch

/// Takes the place of Dispatch's semaphore in the module: a fiber that waits is not scheduled.
///
/// Sound as `@unchecked Sendable`: one fiber runs at a time, and switches only at scheduling points.
final class DispatchSemaphore: @unchecked Sendable {
    private let count: UnsafeMutablePointer<Int64>

    init(value: Int) {
        count = il_cell_new().assumingMemoryBound(to: Int64.self)
        count.initialize(to: Int64(value))
    }

    deinit { il_cell_end(count) }

    @discardableResult
    func signal() -> Int {
        il_point(count, IL_WRITE)
        count.pointee += 1
        return 0
    }

    func wait() {
        il_wait(count)
        count.pointee -= 1
    }

    /// Time is no part of a schedule: a time limit, other than the distant future, has passed if nobody has signalled
    /// by the time that this is scheduled.
    func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
        if timeout == .distantFuture {
            wait()
            return .success
        }
        il_point(count, IL_WRITE)
        if count.pointee <= 0 { return .timedOut }
        count.pointee -= 1
        return .success
    }
}
