import Synchronization

@testable import Multicast

extension ListenerRegistry {
    /// The number of registrations in slots, including those of deallocated objects that were not found yet.
    var occupiedCount: Int { state.withLock { $0.occupied } }

    /// The number of all registrations, including those that were taken out of their slots.
    var indexedCount: Int { state.withLock { state in state.index.values.reduce(0) { $0 + $1.count } } }
}

extension ChannelDirectory {
    /// The number of channels, including those that are no longer used and not yet removed.
    var count: Int { state.withLock { $0.channels.count } }
}

extension ReadersWriterLock {
    /// Whether a writer holds the lock or waits for it.
    var isWanted: Bool { arrivals.load(ordering: .relaxed) < 0 }

    /// The number of readers that hold the lock or wait for it.
    var readerCount: Int {
        let arrivals = arrivals.load(ordering: .relaxed)
        return arrivals < 0 ? arrivals + Self.writerMark : arrivals
    }
}
