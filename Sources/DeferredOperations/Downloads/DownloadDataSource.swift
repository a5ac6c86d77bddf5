public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Loads what a URL names, over HTTP, into a file, in constant memory.
///
/// ```swift
/// DownloadDataSource(url, to: file, existing: .replace).request(on: queue)
///     .done { file in print("\(file.byteCount) bytes in \(file.url.path)") }
/// ```
///
/// The body is written to a part file beside the destination (`name.….part`), which is moved into place in one step
/// when it is complete. A download that fails or is cancelled leaves nothing at the destination,
/// and no part file, unless it can be resumed. Errors are as for ``URLDataSource``.
open class DownloadDataSource: TransferDataSource<DownloadDataSource.File>, @unchecked Sendable {
    /// A file that has been downloaded, or was there already.
    public struct File: Sendable {
        /// Where it is.
        public let url: URL
        /// How long it is.
        public let byteCount: Int64
        /// Status and headers of the answer; nil if what was there was kept because of
        /// ``Existing/skip``. The status is 206 if an earlier attempt was continued, and 416 if that had been complete.
        public let response: HTTPURLResponse?
        /// How much of it was there from an earlier attempt.
        public let resumedAt: Int64

        /// Whether it was there already and was left as it is: skipped, or not modified (304).
        public var wasKept: Bool { response.map { $0.statusCode == 304 } ?? true }
    }

    /// What to do if there is something at the destination.
    ///
    /// Only a file is replaced or kept. If the destination is a symbolic link, that is the file that it leads to, and the
    /// link stays; the part file is beside that file. A folder, a device, a pipe, or a link that leads nowhere is
    /// ``DataSourceError/cannotWrite(_:reason:)``, before a request is sent.
    public enum Existing: Sendable, Hashable {
        /// Fail with ``DataSourceError/destinationExists(_:)``, before a request is sent; and likewise if something has
        /// appeared by the time the download is complete.
        case fail
        /// Replace it, in one step, when the download is complete. The mode of the file is kept.
        case replace
        /// Succeed with it as it is, without a request; also if it has appeared by the time the download is complete. Its
        /// length and contents are not checked: `expectedByteCount` and `verify` are for the download.
        case skip
    }

    /// Where the file is to be.
    public var destination: URL { plan.destination }
    /// What to do if there is something there.
    public var existing: Existing { plan.existing }
    /// Whether part files are kept and resumed.
    public var resumes: Bool { plan.resumes }
    private let plan: DownloadPlan

    /// Creates a download of the answer to a request.
    ///
    /// Unless the request has an `Accept-Encoding`, the server is asked not to compress the body (`identity`), so that its
    /// length can be checked and a part can be resumed.
    ///
    /// ```swift
    /// DownloadDataSource(url, to: file, mirrors: [second, third], expectedByteCount: 1_048_576) { part in
    ///     let actual = try sha256(of: part)
    ///     guard actual == expected else {
    ///         throw DataSourceError.checksumMismatch(url, expected: expected, actual: actual)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - destination: A file URL, in a folder that exists, unless `createsFolders`.
    ///   - existing: What to do if there is something there.
    ///   - resumes: Leaves a part file (`name.part`, and what is known of it in `name.part.from`) when the transfer fails or
    ///     is cancelled, if the server has sent a validator (a strong `ETag`, or `Last-Modified`); and continues one that
    ///     is there (`Range` with `If-Range`). If the server has something else by then, or the request is for another URL
    ///     or `Range`, the download starts anew. A file of that name that is not a download's stays as it is, and nothing
    ///     is resumed.
    ///   - createsFolders: Makes the folder of the destination, and those around it.
    ///   - mirrors: Other addresses of the same file. When one fails, the next is asked for the rest; its part is used if
    ///     the length of the whole, and the date where both send one, are the same as before. The Deferred fails with the
    ///     last one's error. Credentials in the headers are only sent to the host of the request.
    ///   - expectedByteCount: How long the file is to be. Any other length is
    ///     ``DataSourceError/unexpectedLength(_:expected:actual:)``, as soon as it is known. A file that ``Existing/skip``
    ///     keeps may have any length.
    ///   - verify: Checks the finished part file, which it receives, before that is moved into place; not called for a file that
    ///     ``Existing/skip`` keeps. What it throws is
    ///     the failure, and nothing is left of the file; or the next mirror is asked for the whole, but first the same one if
    ///     the file consisted of parts from several. Runs on a queue of the transfer's own, and may take long: silence does
    ///     not count. After a cancel or ``TransferOptions/totalTimeout`` its result is ignored. It must not write to the part file:
    ///     another length is ``DataSourceError/cannotWrite(_:reason:)``.
    public init(
        _ request: URLRequest, to destination: URL, existing: Existing = .fail, resumes: Bool = false,
        createsFolders: Bool = false, mirrors: [URL] = [], expectedByteCount: Int64? = nil,
        options: TransferOptions = .init(), session: TransferSession = .shared,
        verify: (@Sendable (_ part: URL) throws -> Void)? = nil
    ) {
        plan = DownloadPlan(
            destination: destination, existing: existing, resumes: resumes, createsFolders: createsFolders,
            expectedByteCount: expectedByteCount, mirrors: mirrors, verify: verify)
        super.init(request, options: options, session: session)
    }

    /// Creates a download of what a URL names.
    public convenience init(
        _ url: URL, to destination: URL, existing: Existing = .fail, resumes: Bool = false,
        createsFolders: Bool = false, mirrors: [URL] = [], expectedByteCount: Int64? = nil,
        options: TransferOptions = .init(), session: TransferSession = .shared,
        verify: (@Sendable (_ part: URL) throws -> Void)? = nil
    ) {
        self.init(
            URLRequest(url: url), to: destination, existing: existing, resumes: resumes,
            createsFolders: createsFolders, mirrors: mirrors, expectedByteCount: expectedByteCount,
            options: options, session: session, verify: verify)
    }

    /// Starts the transfer. A subclass that overrides this calls `super`.
    open override func execute() throws {
        let checked = try checkedRequest()
        guard destination.isFileURL else {
            throw DataSourceError.cannotWrite(destination, reason: "the destination is not a file URL")
        }
        for mirror in plan.mirrors { _ = try URLRequest(url: mirror).checked(.init()) }
        let sink = FileSink(plan, for: checked)
        var isKept = false
        let prepare = {
            let request = try sink.prepare()
            isKept = request == nil
            return request
        }
        try transfer(checked, into: sink, prepare: prepare) { [self] result in
            finishOrStop(with: Result { try file(try result.get(), sink) })
        }
        if isKept { finish(with: .success(kept(nil))) }
    }

    private func file(_ response: HTTPURLResponse, _ sink: FileSink) throws -> File {
        if sink.hasKeptOther { return kept(nil) }
        guard response.statusCode == 304 else {
            return File(
                url: destination, byteCount: sink.byteCount, response: response, resumedAt: sink.resumedAt)
        }
        // Nothing has changed since the caller had it; but the caller has lost it.
        guard try Destination.find(destination) != nil else {
            throw DataSourceError.status(
                .init(response, url: response.url ?? urlRequest.errorURL, body: Data()))
        }
        return kept(response)
    }

    private func kept(_ response: HTTPURLResponse?) -> File {
        var status = stat()
        let byteCount = stat(destination.path, &status) == 0 ? Int64(status.st_size) : 0
        return File(url: destination, byteCount: byteCount, response: response, resumedAt: 0)
    }
}
