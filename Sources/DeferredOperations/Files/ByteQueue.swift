internal import Foundation

/// A queue of bytes: up to about `limit` of them in memory, what comes beyond that in a temporary file without a name.
///
/// Not thread-safe; the lock of its owner protects it.
struct ByteQueue {
    private let limit: Int
    private var pieces: [Data] = []
    private var byteCount = 0
    private var overflow: OverflowFile?

    init(limit: Int) { self.limit = limit }

    /// How many bytes are in the file.
    var overflowByteCount: Int64 { overflow?.byteCount ?? 0 }

    mutating func append(_ piece: Data) throws(DataSourceError) {
        if byteCount < limit, overflowByteCount == 0 {
            pieces.append(piece)
            byteCount += piece.count
        } else {
            let file: OverflowFile
            if let overflow { file = overflow } else { file = try OverflowFile() }
            overflow = file
            try file.append(piece)
        }
    }

    /// Removes what is in memory, or up to `limit` bytes of the file, and returns them; nil if there are none.
    mutating func take() throws(DataSourceError) -> [Data]? {
        if !pieces.isEmpty {
            byteCount = 0
            defer { pieces = [] }
            return pieces
        }
        guard let overflow, overflow.byteCount > 0 else { return nil }
        return [try overflow.take(upTo: limit)]
    }

    mutating func removeAll() { self = ByteQueue(limit: limit) }
}

/// The bytes of a ``ByteQueue`` that are not in memory.
private final class OverflowFile {
    private let descriptor: CInt
    private let url: URL
    private var start: Int64 = 0
    private var end: Int64 = 0

    init() throws(DataSourceError) {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("stream-\(UUID().uuidString)")
        descriptor = open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .cannotWrite(url, reason: FileFailure.last.reason) }
        unlink(url.path)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    var byteCount: Int64 { end - start }

    func append(_ data: Data) throws(DataSourceError) {
        do { try data.write(to: descriptor, at: &end) } catch {
            throw .cannotWrite(url, reason: error.reason)
        }
    }

    /// Removes the first bytes, and returns them.
    func take(upTo limit: Int) throws(DataSourceError) -> Data {
        var piece = Data(count: Int(min(Int64(limit), byteCount)))
        let count = piece.withUnsafeMutableBytes { bytes in
            while true {
                let count = pread(descriptor, bytes.baseAddress, bytes.count, off_t(start))
                if count >= 0 || errno != EINTR { return count }
            }
        }
        guard count > 0 else { throw .cannotWrite(url, reason: FileFailure.last.reason) }
        start += Int64(count)
        if start == end {
            // The room on the disk is used again.
            _ = ftruncate(descriptor, 0)
            (start, end) = (0, 0)
        }
        return piece.prefix(count)
    }
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
