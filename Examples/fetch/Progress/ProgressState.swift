/// The progress of all downloads, from which bars are drawn. Times are measured from the start.
struct ProgressState: Sendable {
    enum Phase: Equatable, Sendable {
        /// Nothing has been received yet.
        case asking
        case receiving
        /// All has been received, and its checksum is being computed.
        case checking
        /// Waiting for the next attempt.
        case pausing(reason: String, until: Duration)
    }

    /// A running download.
    struct Active: Sendable {
        let name: String
        var phase = Phase.asking
        var received: Int64 = 0
        var expected: Int64?
        var rate = RateMeter()
        /// How many bytes of this attempt are included in the total.
        fileprivate var counted: Int64 = 0
    }

    typealias End = Timeline.End

    /// The number of downloads.
    private(set) var total: Int
    /// Whether downloads may begin with a part file of an earlier run.
    private let continues: Bool
    private(set) var fetched = 0
    private(set) var skipped = 0
    private(set) var failed = 0
    private(set) var cancelled = 0
    /// Bytes received by all downloads, including those that failed.
    private(set) var received: Int64 = 0
    private(set) var rate = RateMeter()
    private var downloads: [Int: Active] = [:]
    private var order: [Int] = []

    init(total: Int = 0, continues: Bool = false) {
        self.total = total
        self.continues = continues
    }

    var ended: Int { fetched + skipped + failed + cancelled }

    /// The running downloads, in the order in which they began.
    var running: [Active] { order.compactMap { downloads[$0] } }

    mutating func begin(_ index: Int, name: String) {
        downloads[index] = Active(name: name)
        order.append(index)
    }

    mutating func receive(_ index: Int, _ received: Int64, of expected: Int64?, at time: Duration) {
        guard var download = downloads.removeValue(forKey: index) else { return }
        // The part file of an earlier run was not received now. Its length is known only at the end.
        let isBeginning = download.phase != .receiving
        if !(isBeginning && continues) {
            let new = max(0, received - download.received)
            download.counted += new
            self.received += new
        }
        download.phase = .receiving
        download.received = received
        download.expected = expected
        download.rate.record(received, at: time)
        downloads[index] = download
        rate.record(self.received, at: time)
    }

    /// Starts an attempt.
    mutating func ask(_ index: Int) {
        downloads[index]?.phase = .asking
        downloads[index]?.received = 0
        downloads[index]?.counted = 0
    }

    mutating func check(_ index: Int) { downloads[index]?.phase = .checking }

    mutating func pause(_ index: Int, reason: String, until: Duration) {
        downloads[index]?.phase = .pausing(reason: reason, until: until)
    }

    /// - Parameter received: How much came in the last try, if that is known.
    mutating func end(_ index: Int, _ end: End, received: Int64? = nil) {
        if let download = downloads.removeValue(forKey: index) {
            order.removeAll { $0 == index }
            if let received { self.received += received - download.counted }
        }
        switch end {
        case .fetched: fetched += 1
        case .skipped: skipped += 1
        case .failed: failed += 1
        case .cancelled: cancelled += 1
        }
    }

    /// Adds a download.
    mutating func addOne() { total += 1 }
}
