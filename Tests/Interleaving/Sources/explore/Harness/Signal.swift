import CInterleaving

/// A thread of the run waits here until another one has signalled.
final class Signal: @unchecked Sendable {
    private let count: UnsafeMutablePointer<Int64>

    init() {
        count = il_cell_new().assumingMemoryBound(to: Int64.self)
        count.initialize(to: 0)
    }

    deinit { il_cell_end(count) }

    func send() {
        il_point(count, IL_WRITE)
        count.pointee += 1
    }

    func wait() {
        il_wait(count)
        count.pointee -= 1
    }
}
