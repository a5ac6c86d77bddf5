import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Checks under `--continue` that a file that exists is not replaced by the beginning of the server's.
///
/// Sound as `@unchecked Sendable`: `hasEnd` is accessed only under `lock`.
final class LengthCheck: @unchecked Sendable {
    private let url: URL
    private let local: Int64
    private let remote: Int64?
    private let lock = NSLock()
    /// Whether the end of the body can be distinguished from a broken connection.
    private var hasEnd = true

    /// - Parameters:
    ///   - local: The length of the file that exists.
    ///   - remote: The length in the answer to `HEAD`, if there was one.
    init(_ url: URL, local: Int64, remote: Int64?) {
        self.url = url
        self.local = local
        self.remote = remote
    }

    /// Takes the head of the answer whose body is checked.
    func receive(_ response: HTTPURLResponse) {
        let headers = ["Content-Length", "Transfer-Encoding", "Content-Range"]
        let hasEnd = headers.contains { response.value(forHTTPHeaderField: $0) != nil }
        lock.withLock { self.hasEnd = hasEnd }
    }

    /// - Throws: ``LongerThanServer`` or `DataSourceError.truncated`.
    func check(_ part: URL) throws {
        guard let byteCount = LocalFile(part)?.byteCount else { return }
        guard let remote else {
            // The server had not said how long its file is.
            if byteCount < local { throw LongerThanServer(local: local, remote: byteCount) }
            return
        }
        if byteCount < remote, !lock.withLock({ hasEnd }) {
            throw DataSourceError.truncated(url, received: byteCount, expected: remote)
        }
    }
}
