internal import Foundation

/// A queue of bytes in a temporary file without a name.
///
/// Not thread-safe; a stream buffer's lock protects it.
final class OverflowFile {
    private let descriptor: CInt
    private let url: URL
    private var start: Int64 = 0
    private var end: Int64 = 0

    init() throws(DataSourceError) {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("stream-\(UUID().uuidString)")
        descriptor = open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure(url) }
        unlink(url.path)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    var byteCount: Int64 { end - start }
    var isEmpty: Bool { start == end }

    func append(_ data: Data) throws(DataSourceError) {
        var failed = false
        for region in data.regions {
            region.withUnsafeBytes { bytes in
                var rest = bytes
                while !failed, let first = rest.baseAddress, rest.count > 0 {
                    let count = pwrite(descriptor, first, rest.count, off_t(end))
                    if count >= 0 {
                        end += Int64(count)
                        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                    } else if errno != EINTR {
                        failed = true
                    }
                }
            }
            if failed { throw Self.failure(url) }
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
        guard count > 0 else { throw Self.failure(url) }
        start += Int64(count)
        if isEmpty {
            // The room on the disk is used again.
            _ = ftruncate(descriptor, 0)
            (start, end) = (0, 0)
        }
        return piece.prefix(count)
    }

    private static func failure(_ url: URL) -> DataSourceError {
        .cannotWrite(url, reason: String(cString: strerror(errno)))
    }
}
