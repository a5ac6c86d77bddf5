public import Foundation

/// Configures a download, beyond what ``TransferOptions`` does for every transfer.
public struct DownloadOptions: Sendable {
    /// What to do if there is something at the destination.
    public var existing: DownloadDataSource.Existing

    /// Leaves a part file (`name.part`, and what is known of it in `name.part.from`) when the transfer fails
    /// or is cancelled, if the server has sent a validator (a strong `ETag`, or `Last-Modified`); and
    /// continues one that is there (`Range` with `If-Range`).
    ///
    /// If the server has something else by then, or its 206 does not repeat the validator, or the request is for another
    /// URL or `Range`, the download
    /// starts anew. What one of the ``mirrors`` has left is continued if that mirror is asked before another one has
    /// answered. A file of that name that is not a download's stays as it is, and nothing is resumed.
    public var resumes: Bool

    /// Whether the part file of another address is continued, too: one with the same path, whose strong entity tag the
    /// server confirms. For `fetch`, whose user has chosen the file.
    package var continuesOtherAddress = false

    /// Makes the folder of the destination, and those around it.
    public var createsFolders: Bool

    /// Other addresses of the same file. When one fails, the next is asked for the rest; its part is used if
    /// the length of the whole, and the date where both send one, are the same as before. The Deferred fails
    /// with the last one's error. Credentials in the headers are only sent to the host of the request.
    public var mirrors: [URL]

    /// How long the file is to be, in bytes. Any other length is
    /// ``DataSourceError/unexpectedLength(_:expected:actual:)``, as soon as it is known. A file that
    /// ``DownloadDataSource/Existing/skip`` keeps may have any length.
    public var expectedByteCount: Int64?

    /// Checks the finished part file, which it receives, before that is moved into place; not called for a file that
    /// ``DownloadDataSource/Existing/skip`` keeps.
    ///
    /// What it throws is the failure, and nothing is left of the file; or the next mirror is asked for the
    /// whole, but first the same one if the file consisted of parts from several. Runs on a queue of the
    /// transfer's own, and may take long: silence does not count. After a cancel or
    /// ``TransferOptions/totalTimeout`` its result is ignored. It must not write to the part file: another
    /// length is ``DataSourceError/cannotWrite(_:reason:)``.
    public var verify: (@Sendable (_ part: URL) throws -> Void)?

    /// Creates options with these values.
    public init(
        existing: DownloadDataSource.Existing = .fail, resumes: Bool = false, createsFolders: Bool = false,
        mirrors: [URL] = [], expectedByteCount: Int64? = nil,
        verify: (@Sendable (_ part: URL) throws -> Void)? = nil
    ) {
        self.existing = existing
        self.resumes = resumes
        self.createsFolders = createsFolders
        self.mirrors = mirrors
        self.expectedByteCount = expectedByteCount
        self.verify = verify
    }
}

/// Where a download puts its file.
struct Destination {
    let url: URL
    /// Whether something is there. A symbolic link without a target counts.
    let exists: Bool

    /// Inspects what is at `url`.
    ///
    /// - Throws: ``DataSourceError/cannotWrite(_:reason:)`` if nothing can ever be there: it is no file URL, the name
    ///   is too long, or its folder is a file.
    init(_ url: URL) throws(DataSourceError) {
        guard url.isFileURL else { throw .cannotWrite(url, reason: "the destination is not a file URL") }
        exists = FileSystem.status(url.path, ofLink: true) != nil
        guard exists || errno == ENOENT else { throw .cannotWrite(url, reason: FileSystem.lastFault) }
        self.url = url
    }

    /// The file that is there or will be, or that a symbolic link there leads to.
    ///
    /// - Throws: ``DataSourceError/cannotWrite(_:reason:)`` if it is not a regular file: a device replaced by
    ///   a file would be lost for all programs.
    func file() throws(DataSourceError) -> URL {
        guard exists else { return url }
        guard let resolved = realpath(url.path, nil) else {
            let leadsNowhere = "it is a symbolic link that leads nowhere"
            throw .cannotWrite(url, reason: errno == ENOENT ? leadsNowhere : FileSystem.lastFault)
        }
        defer { free(resolved) }
        let path = String(cString: resolved)
        if let fault = FileSystem.faultOfFile(path) { throw .cannotWrite(url, reason: fault) }
        return URL(fileURLWithPath: path)
    }

    /// Makes the folder that it is in, and those around it.
    func createFolders() throws(DataSourceError) {
        do {
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        } catch {
            throw .cannotWrite(url, reason: "its folder cannot be made: \(error.localizedDescription)")
        }
    }

    /// Eight hexadecimal digits.
    static func uniqueWord() -> String { String(UInt32.random(in: 1 << 28 ... .max), radix: 16) }

    /// The path of the part file that later downloads find, if `path` is that of one for a single download.
    static func sharedPath(ofUnique path: String) -> String? {
        let end = path.suffix(".12345678.part".count)
        guard end.first == ".", end.hasSuffix(".part"), end.dropFirst().prefix(8).allSatisfy(\.isHexDigit)
        else { return nil }
        return path.dropLast(end.count) + ".part"
    }

    /// The path of the part file for a file: `name.part` in the same folder, for later downloads to find, or
    /// with `unique` in its name, for this one alone. A name that would become too long is cut and made
    /// distinct by a hash.
    static func partPath(for file: URL, unique: String? = nil) -> String {
        var name = file.lastPathComponent
        if name.utf8.count > 200 {
            let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01b3
            }
            while name.utf8.count > 150 { name.removeLast() }
            name += "-" + String(hash, radix: 16)
        }
        let folder = file.deletingLastPathComponent().path
        return folder + "/" + ([name, unique].compactMap { $0 } + ["part"]).joined(separator: ".")
    }
}
