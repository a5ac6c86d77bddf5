/// What came of a transfer that succeeded.
struct Fetched: Sendable {
    /// Nil for what went to standard output.
    let file: String?
    /// How long it is.
    let byteCount: Int64
    /// How much of that came now; the beginning of what was continued was there.
    let received: Int64
    /// The server's answer; nil if it was not asked.
    let status: Int?
    /// It had been there before, as a whole.
    let wasThere: Bool

    init(file: String?, byteCount: Int64, received: Int64? = nil, status: Int?, wasThere: Bool = false) {
        self.file = file
        self.byteCount = byteCount
        self.received = received ?? byteCount
        self.status = status
        self.wasThere = wasThere
    }
}
