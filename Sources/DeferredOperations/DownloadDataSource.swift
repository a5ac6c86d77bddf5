public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Loads what a URL names, over HTTP, into a file, in constant memory.
///
/// ```swift
/// DownloadDataSource(url, to: file, existing: .replace).request(on: queue)
///     .then { file in print("\(file.byteCount) bytes in \(file.url.path)") }
/// ```
///
/// The body goes to a part file beside the destination (`name.….part`), which is moved into place in one step
/// when all that was announced has come. What fails or is cancelled leaves nothing at the destination, and no
/// part file, unless it can be resumed. Errors are as for ``URLDataSource``.
open class DownloadDataSource: ConcurrentDataSource<DownloadDataSource.File>, @unchecked Sendable {
    /// What has been downloaded.
    public struct File: Sendable {
        /// Where it is.
        public let url: URL
        /// How long it is.
        public let byteCount: Int64
        /// Status and headers of the answer; nil if the server was not asked, because of ``Existing/skip``.
        public let response: HTTPURLResponse?
        /// How much of it was there from an earlier attempt.
        public let resumedAt: Int64

        /// Whether it was there already and was left as it is: skipped, or not modified (304).
        public var wasKept: Bool { response.map { $0.statusCode == 304 } ?? true }
    }

    /// What to do if there is something at the destination.
    ///
    /// Only a file is replaced or kept. If the destination is a symbolic link, that is the file which it
    /// leads to, and the link stays; the part file is beside that file. A folder, a device, a pipe, or a link
    /// that leads nowhere is ``DataSourceError/cannotWrite(_:reason:)``, before anything is asked for.
    public enum Existing: Sendable, Hashable {
        /// Fail with ``DataSourceError/destinationExists(_:)``, before anything is asked for; and likewise if
        /// something has appeared by the time the download is whole.
        case fail
        /// Replace it, in one step, when the download is whole.
        case replace
        /// Succeed with it as it is, without asking the server.
        case skip
    }

    /// What is asked for.
    public let urlRequest: URLRequest
    /// Where the file is to be.
    public let destination: URL
    /// What to do if there is something there.
    public let existing: Existing
    /// Whether part files stay to be resumed, and are.
    public let resumes: Bool
    /// What the transfer may and may not do.
    public let options: TransferOptions
    private let session: TransferSession
    private let slot = TransferSlot()

    /// A download of what a request gives.
    ///
    /// Unless the request says otherwise the server is asked not to compress the body (`Accept-Encoding:
    /// identity`), so that its length can be checked and a part be resumed.
    ///
    /// - Parameters:
    ///   - destination: A file URL, in a folder that exists.
    ///   - existing: What to do if there is something there.
    ///   - resumes: Leaves a part file (`name.part`, and what is known of it in `name.part.from`) when the transfer fails or is
    ///     cancelled, if the server has said how to tell whether it still has the same thing (a strong `ETag`, or
    ///     `Last-Modified`); and goes on with one that is there (`Range` with `If-Range`). If the server has something else
    ///     by then, the download starts from nothing.
    public init(
        _ request: URLRequest, to destination: URL, existing: Existing = .fail, resumes: Bool = false,
        options: TransferOptions = .init(), session: TransferSession = .shared
    ) {
        urlRequest = request
        self.destination = destination
        self.existing = existing
        self.resumes = resumes
        self.options = options
        self.session = session
        super.init()
    }

    /// A download of what a URL names.
    public convenience init(
        _ url: URL, to destination: URL, existing: Existing = .fail, resumes: Bool = false,
        options: TransferOptions = .init(), session: TransferSession = .shared
    ) {
        self.init(
            URLRequest(url: url), to: destination, existing: existing, resumes: resumes, options: options,
            session: session)
    }

    /// When things happened; complete once the Deferred has ended.
    public final var metrics: TransferMetrics { slot.metrics }

    /// Starts the transfer. A subclass that overrides this calls `super`.
    open override func execute() throws {
        let checked = try urlRequest.checked(options)
        guard destination.isFileURL else {
            throw DataSourceError.cannotWrite(destination, reason: "the destination is not a file URL")
        }
        let sink = FileSink(destination, existing, mayResume: resumes)
        var isKept = false
        let make = { [self] () -> Transfer? in
            guard let request = try sink.prepare(checked) else {
                isKept = true
                return nil
            }
            return Transfer(request, options, session, into: sink)
        }
        try slot.run(make, requestedAt: requestedAt) { [self] outcome in
            let file = outcome.map { response in
                response.statusCode == 304
                    ? kept(response)
                    : File(
                        url: destination, byteCount: sink.byteCount, response: response,
                        resumedAt: sink.resumedAt)
            }
            // Cancelled in the very moment: what has been put in place goes again.
            if !finish(with: file) { slot.stop() }
        }
        if isKept { finish(with: .success(kept(nil))) }
    }

    final override var host: String? { urlRequest.url?.host?.lowercased() }

    final override func cutShort() {
        slot.stop()
    }

    /// Called after a cancel has stopped the transfer, for a subclass to override.
    open override func stop() {}

    private func kept(_ response: HTTPURLResponse?) -> File {
        var status = stat()
        let byteCount = stat(destination.path, &status) == 0 ? Int64(status.st_size) : 0
        return File(url: destination, byteCount: byteCount, response: response, resumedAt: 0)
    }
}
