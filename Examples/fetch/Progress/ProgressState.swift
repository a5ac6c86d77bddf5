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
        /// What of this try is in the overall figure.
        fileprivate var counted: Int64 = 0
    }

    typealias End = Timeline.End

    /// How many transfers there are in all.
    private(set) var total: Int
    /// Transfers may begin with what was there from an earlier run.
    private let continues: Bool
    private(set) var fetched = 0
    private(set) var skipped = 0
    private(set) var failed = 0
    private(set) var cancelled = 0
    /// Received by all transfers, those that failed too.
    private(set) var received: Int64 = 0
    private(set) var rate = RateMeter()
    private var transfers: [Int: Transfer] = [:]
    private var order: [Int] = []

    init(total: Int = 0, continues: Bool = false) {
        self.total = total
        self.continues = continues
    }

    var ended: Int { fetched + skipped + failed + cancelled }

    /// Those under way, in the order in which they began.
    var running: [Transfer] { order.compactMap { transfers[$0] } }

    mutating func begin(_ index: Int, name: String) {
        transfers[index] = Transfer(name: name)
        order.append(index)
    }

    mutating func receive(_ index: Int, _ received: Int64, of expected: Int64?, at time: Duration) {
        guard var transfer = transfers.removeValue(forKey: index) else { return }
        // What a file that is continued begins with did not come now; how much that is, is known in the end.
        let isBeginning = transfer.phase != .receiving
        if !(isBeginning && continues) {
            let new = max(0, received - transfer.received)
            transfer.counted += new
            self.received += new
        }
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
        transfers[index]?.received = 0
        transfers[index]?.counted = 0
    }

    mutating func pause(_ index: Int, reason: String, until: Duration) {
        transfers[index]?.phase = .pausing(reason: reason, until: until)
    }

    /// - Parameter received: How much came in the last try, if that is known.
    mutating func end(_ index: Int, _ end: End, received: Int64? = nil) {
        if let transfer = transfers.removeValue(forKey: index) {
            order.removeAll { $0 == index }
            if let received { self.received += received - transfer.counted }
        }
        switch end {
        case .fetched: fetched += 1
        case .skipped: skipped += 1
        case .failed: failed += 1
        case .cancelled: cancelled += 1
        }
    }

    /// There is one more.
    mutating func addOne() { total += 1 }
}
