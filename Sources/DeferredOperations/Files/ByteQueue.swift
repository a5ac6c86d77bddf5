internal import Foundation

/// A queue of bytes: up to about `limit` of them in memory, what comes beyond that in a temporary file without a name.
///
/// Not thread-safe; the lock of its owner protects it.
struct ByteQueue {
    private let limit: Int
    private var pieces: [Data] = []
    private var byteCount = 0
    private var overflow: PartFile?
    /// Where the bytes begin that have not been taken from the file.
    private var start: Int64 = 0

    init(limit: Int) { self.limit = limit }

    /// How many bytes are in the file.
    var overflowByteCount: Int64 { overflow.map { $0.byteCount - start } ?? 0 }

    mutating func append(_ piece: Data) throws {
        if byteCount < limit, overflowByteCount == 0 {
            pieces.append(piece)
            return byteCount += piece.count
        }
        if overflow == nil {
            overflow = try .temporary("stream")
            overflow?.remove()
        }
        try overflow?.append(piece)
    }

    /// Removes what is in memory, or up to `limit` bytes of the file, and returns them; nil if there are none.
    mutating func take() throws(DataSourceError) -> [Data]? {
        if !pieces.isEmpty {
            byteCount = 0
            defer { pieces = [] }
            return pieces
        }
        guard let overflow, overflowByteCount > 0 else { return nil }
        let piece = try overflow.read(at: start, upTo: limit)
        start += Int64(piece.count)
        if overflowByteCount == 0 {
            // The file is truncated, so that its room on the disk is free again.
            try? overflow.truncate()
            start = 0
        }
        return [piece]
    }

    mutating func removeAll() { self = ByteQueue(limit: limit) }
}
