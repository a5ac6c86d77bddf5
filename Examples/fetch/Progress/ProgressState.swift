/// How far all transfers have come: what the bars are drawn from. Times are since the start.
struct ProgressState: Sendable {
    enum Phase: Equatable, Sendable {
        /// Nothing has come yet.
        case asking
        case receiving
        /// Waiting to try again.
        case pausing(reason: String, until: Duration)
    }

    /// A transfer that is under way.
    struct Transfer: Sendable {
        let name: String
        var phase = Phase.asking
        var received: Int64 = 0
        var expected: Int64?
        var rate = RateMeter()
    }

    enum End: Sendable { case fetched, skipped, failed, cancelled }

    /// How many transfers there are in all.
    var total: Int
    private(set) var fetched = 0
    private(set) var skipped = 0
    private(set) var failed = 0
    private(set) var cancelled = 0
    /// Received by all transfers, those that failed too.
    private(set) var received: Int64 = 0
    private(set) var rate = RateMeter()
    private var transfers: [Int: Transfer] = [:]
    private var order: [Int] = []

    init(total: Int) { self.total = total }

    var ended: Int { fetched + skipped + failed + cancelled }

    /// Those under way, in the order in which they began.
    var running: [Transfer] { order.compactMap { transfers[$0] } }

    mutating func begin(_ index: Int, name: String) {
        transfers[index] = Transfer(name: name)
        order.append(index)
    }

    mutating func receive(_ index: Int, _ received: Int64, of expected: Int64?, at time: Duration) {
        guard var transfer = transfers.removeValue(forKey: index) else { return }
        // The beginning of a file that is continued was not received now.
        if case .receiving = transfer.phase { self.received += max(0, received - transfer.received) }
        transfer.phase = .receiving
        transfer.received = received
        transfer.expected = expected
        transfer.rate.record(received, at: time)
        transfers[index] = transfer
        rate.record(self.received, at: time)
    }

    /// The transfer is asked for again.
    mutating func ask(_ index: Int) {
        transfers[index]?.phase = .asking
    }

    mutating func pause(_ index: Int, reason: String, until: Duration) {
        transfers[index]?.phase = .pausing(reason: reason, until: until)
    }

    mutating func end(_ index: Int, _ end: End) {
        if transfers.removeValue(forKey: index) != nil { order.removeAll { $0 == index } }
        switch end {
        case .fetched: fetched += 1
        case .skipped: skipped += 1
        case .failed: failed += 1
        case .cancelled: cancelled += 1
        }
    }
}
