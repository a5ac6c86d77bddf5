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

    mutating func append(_ piece: Data) throws(DataSourceError) {
        if byteCount < limit, overflowByteCount == 0 {
            pieces.append(piece)
            return byteCount += piece.count
        }
        if overflow == nil {
            overflow = try .temporary("stream")
            overflow?.remove()
        }
        try overflow?.write(piece)
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

/// Why a file could not be used, in the system's words or ours.
struct FileFailure: Error {
    let code: CInt
    var words: String?
    var reason: String { words ?? String(cString: strerror(code)) }
    static var last: FileFailure { FileFailure(code: errno) }
}

extension Data {
    /// Writes all bytes at `end` of an open file, and moves that on.
    func write(to descriptor: CInt, at end: inout Int64) throws(FileFailure) {
        for region in regions {
            let failure = region.withUnsafeBytes { bytes -> FileFailure? in
                var rest = bytes
                while let start = rest.baseAddress, rest.count > 0 {
                    let count = pwrite(descriptor, start, rest.count, off_t(end))
                    if count < 0, errno != EINTR { return .last }
                    if count < 0 { continue }
                    end += Int64(count)
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                }
                return nil
            }
            if let failure { throw failure }
        }
    }
}
