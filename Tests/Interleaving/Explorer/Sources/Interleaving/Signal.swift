import CInterleaving

/// A thread of the run waits here until another one has signalled.
public final class Signal: @unchecked Sendable {
    private let count: UnsafeMutablePointer<Int64>

    /// Creates a signal that was not sent.
    public init() {
        count = il_cell_new().assumingMemoryBound(to: Int64.self)
        count.initialize(to: 0)
    }

    deinit { il_cell_end(count) }

    /// Lets one thread go on.
    public func send() {
        il_point(count, IL_WRITE)
        count.pointee += 1
    }

    /// Waits until it was sent as often as was waited for it.
    public func wait() {
        il_wait(count)
        count.pointee -= 1
    }
}
