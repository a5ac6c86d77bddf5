import Dispatch
import Synchronization

/// A lock that many readers hold together or one writer alone, and that neither kind can keep from the other.
///
/// The invariant: `arrivals` counts the readers that hold the lock or wait for it, less `writerMark` while a writer
/// holds it or waits for it. So whoever adds one and finds it negative must wait for that writer, and whoever takes
/// one off and finds it negative must tell it. A writer first takes `writers`, so there is one mark at most; then it
/// sets the mark and learns in the same step how many readers it has to wait for. Those count themselves off in
/// `departuresAwaited`, which may go below zero before the writer adds their number; whoever brings it to zero knows
/// that all have left, and if that is a reader it wakes the writer. Lifting the mark shows how many readers came
/// meanwhile, and all of them are let in before another writer can set it.
///
/// That settles starvation both ways: a waiting writer is passed by no reader that comes later, and a waiting
/// reader by one writer at most.
///
/// The semaphores only put threads to sleep. What one holder wrote is visible to the next through the atomics, read
/// again after each wait; ThreadSanitizer sees those, and does not see semaphores on every platform.
@usableFromInline
final class ReadersWriterLock: Sendable {
    private static let writerMark = 1 << 40

    private let arrivals = Atomic(0)
    private let departuresAwaited = Atomic(0)
    private let writers = LockedState(())
    private let readersMayEnter = DispatchSemaphore(value: 0)
    private let writerMayEnter = DispatchSemaphore(value: 0)

    @usableFromInline
    init() {}

    /// A writer holds the lock or waits for it.
    var isWanted: Bool { arrivals.load(ordering: .relaxed) < 0 }

    /// The readers that hold the lock or wait for it.
    var readerCount: Int {
        let arrivals = arrivals.load(ordering: .relaxed)
        return arrivals < 0 ? arrivals + Self.writerMark : arrivals
    }

    func lockForReading() {
        guard arrivals.wrappingAdd(1, ordering: .acquiring).newValue < 0 else { return }
        readersMayEnter.wait()
        _ = arrivals.load(ordering: .acquiring)
    }

    func unlockAfterReading() {
        guard arrivals.wrappingSubtract(1, ordering: .releasing).newValue < 0 else { return }
        if departuresAwaited.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            writerMayEnter.signal()
        }
    }

    func lockForWriting() {
        writers.lock()
        let readers = arrivals.wrappingSubtract(Self.writerMark, ordering: .acquiringAndReleasing).oldValue
        guard readers > 0 else { return }
        if departuresAwaited.wrappingAdd(readers, ordering: .acquiringAndReleasing).newValue != 0 {
            writerMayEnter.wait()
            _ = departuresAwaited.load(ordering: .acquiring)
        }
    }

    func unlockAfterWriting() {
        let readers = arrivals.wrappingAdd(Self.writerMark, ordering: .acquiringAndReleasing).newValue
        for _ in 0..<readers { readersMayEnter.signal() }
        writers.unlock()
    }
}
