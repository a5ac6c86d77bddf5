public import Foundation

// Sound as `@unchecked Sendable`: its properties are constants of `Sendable` types.
/// Loads what a URL names, over HTTP, into a file, in constant memory.
///
/// ```swift
/// DownloadDataSource(url, to: file, download: .init(existing: .replace)).request(on: queue)
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

        /// Creates a file, for a subclass that finishes with one of its own.
        public init(url: URL, byteCount: Int64, response: HTTPURLResponse? = nil, resumedAt: Int64 = 0) {
            self.url = url
            self.byteCount = byteCount
            self.response = response
            self.resumedAt = resumedAt
        }

        /// Whether it was there already and was left as it is: skipped, or not modified (304).
        public var wasKept: Bool { response.map { $0.statusCode == 304 } ?? true }
    }

    /// What to do if there is something at the destination.
    ///
    /// Only a file is replaced or kept. If the destination is a symbolic link, that is the file that it leads
    /// to, and the link stays; the part file is beside that file. A folder, a device, a pipe, or a link that
    /// leads nowhere is ``DataSourceError/cannotWrite(_:reason:)``, before a request is sent.
    public enum Existing: Sendable, Hashable {
        /// Fail with ``DataSourceError/destinationExists(_:)``: before a request is sent or, if something appears at
        /// the destination later, when the download is complete. What is there stays as it is, except that on a
        /// file system without hard links what appears in the very moment of the move is replaced. The part file of a
        /// download that ``DownloadOptions/resumes`` stays, too, and the next one continues it.
        case fail
        /// Replace it, in one step, when the download is complete. The mode of the file is kept. A cancel at that very
        /// moment leaves the new file where it replaced one, which is gone; and no file where there was none.
        case replace
        /// Succeed with it as it is, without a request; also if it has appeared by the time the download is
        /// complete. Its length and contents are not checked: `expectedByteCount` and `verify` are for the
        /// download.
        case skip
    }

    /// Where the file is to be.
    public let destination: URL
    /// The options of the download.
    public let downloadOptions: DownloadOptions

    /// Creates a download of the answer to a request.
    ///
    /// Unless the request has an `Accept-Encoding`, the server is asked not to compress the body
    /// (`identity`), so that its length can be checked and a part can be resumed.
    ///
    /// ```swift
    /// let options = DownloadOptions(mirrors: [second, third], expectedByteCount: 1_048_576) { part in
    ///     let actual = try sha256(of: part)
    ///     guard actual == expected else {
    ///         throw DataSourceError.checksumMismatch(url, expected: expected, actual: actual)
    ///     }
    /// }
    /// DownloadDataSource(url, to: file, download: options).request(on: queue)
    /// ```
    ///
    /// - Parameters:
    ///   - destination: A file URL, in a folder that exists, unless ``DownloadOptions/createsFolders``.
    ///   - options: The options of every transfer: limits, progress, closures that decide.
    ///   - download: What becomes of an existing file and of a part file, mirrors, checks.
    public init(
        _ request: URLRequest, to destination: URL, options: TransferOptions = .init(),
        download: DownloadOptions = .init(), session: TransferSession = .shared
    ) {
        self.destination = destination
        downloadOptions = download
        super.init(request, options: options, session: session)
    }

    /// Creates a download of what a URL names.
    public init(
        _ url: URL, to destination: URL, options: TransferOptions = .init(),
        download: DownloadOptions = .init(), session: TransferSession = .shared
    ) {
        self.destination = destination
        downloadOptions = download
        super.init(URLRequest(url: url), options: options, session: session)
    }

    /// Starts the transfer. A subclass that overrides this calls `super`.
    open override func execute() throws {
        try urlRequest.checkedAddress()
        for mirror in downloadOptions.mirrors { try URLRequest(url: mirror).checkedAddress() }
        if downloadOptions.existing == .skip {
            let found = try Destination(destination)
            _ = try found.file()
            if found.exists { return _ = finish(with: .success(kept(nil))) }
        }
        try transfer(into: { FileSink(destination, downloadOptions, for: $0) }) { [self] response, sink in
            try file(response.get(), sink)
        }
    }

    private func file(_ response: HTTPURLResponse, _ sink: FileSink) throws -> File {
        if sink.hasKeptOther { return kept(nil) }
        guard response.statusCode == 304 else {
            return File(
                url: destination, byteCount: sink.byteCount, response: response, resumedAt: sink.resumedAt)
        }
        // 304: nothing has changed since the caller had it, but the caller's file is gone.
        guard try Destination(destination).exists else {
            throw DataSourceError.status(.init(response, url: response.url ?? urlRequest.errorURL))
        }
        return kept(response)
    }

    private func kept(_ response: HTTPURLResponse?) -> File {
        let byteCount = FileSystem.status(destination.path)?.st_size ?? 0
        return File(url: destination, byteCount: Int64(byteCount), response: response)
    }
}

extension DownloadDataSource {
    /// Removes the part files that processes which were killed have left beside `destinations`.
    ///
    /// A process removes those of its own downloads. Where it is killed, or stopped by a fault that
    /// <doc:FoundationOnLinux> describes, they stay, unless this is called for the same destinations at its
    /// next start. What another process is writing stays, and so does the part file of a download that
    /// ``DownloadOptions/resumes``, which the next one continues. Reads each folder once, on the calling
    /// thread; ignores errors.
    public static func removeAbandonedPartFiles(for destinations: [URL]) {
        let files = destinations.compactMap { try? Destination($0).file() }
        let wanted = Set(files.map { Destination.partPath(for: $0) })
        for folder in Set(files.map { $0.deletingLastPathComponent().path }) {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
                let path = folder + "/" + name
                if let shared = Destination.sharedPath(ofUnique: path), wanted.contains(shared) {
                    PartFile.removeAbandoned(path)
                }
            }
        }
    }

    /// Copies the file at `destination` to the part file of a resumable download, so that a download that
    /// ``DownloadOptions/resumes`` only transfers the rest.
    ///
    /// For a file that is known to be the beginning of what `request` names: one that another program
    /// downloaded, say. The server has the last word, as for every part file: if `validator` no longer
    /// matches, the download starts from nothing. The file at `destination` is not changed; replace it with
    /// ``Existing/replace``.
    ///
    /// ```swift
    /// try DownloadDataSource.beginPartFile(for: file, with: request, validator: entityTag)
    /// DownloadDataSource(request, to: file, download: .init(existing: .replace, resumes: true)).request(on: queue)
    /// ```
    ///
    /// Copies in constant memory, on the calling thread. If there is a part file already, it stays.
    ///
    /// - Parameters:
    ///   - validator: For `If-Range`: a strong entity tag (`"…"`), or the date of `Last-Modified` as it was
    ///     received.
    ///   - isCancelled: Called between pieces of 1 MiB; if it returns true, the copy is removed.
    /// - Returns: Whether the file was copied; false if there was a part file.
    /// - Throws: ``DataSourceError/cannotWrite(_:reason:)``, ``DataSourceError/destinationBusy(_:)`` while a
    ///   download is writing the part file, ``DataSourceError/invalidRequest(_:reason:)`` for a request that is not of
    ///   `http` or `https` or a validator with a line break, and `CancellationError` if `isCancelled` returned true.
    @discardableResult
    public static func beginPartFile(
        for destination: URL, with request: URLRequest, validator: String,
        unless isCancelled: () -> Bool = { false }
    ) throws -> Bool {
        try request.checkedAddress()
        // Foundation would drop the header, and a part of anything would be continued.
        if validator.contains(where: \.isNewline) {
            throw DataSourceError.invalidRequest(request.errorURL, reason: "the validator has a line break")
        }
        let place = try Destination(destination).file()
        let recordFile = ResumeRecordFile(file: place, destination: destination)
        // What exists is either a part file or a file of the user's; both stay.
        guard let part = try recordFile.openPart()?.part, part.byteCount == 0 else { return false }
        do {
            try part.append(contentsOf: place, unless: isCancelled)
            guard recordFile.write(ResumeRecord(for: request, validator: validator)) else {
                throw DataSourceError.cannotWrite(destination, reason: "no record of the part file")
            }
            return true
        } catch {
            part.remove()
            throw error
        }
    }
}
