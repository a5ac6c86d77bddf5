internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Puts the body into a part file beside the destination, and that into place when it is whole (O5).
///
/// Sound as `@unchecked Sendable`: it is touched before its transfer starts, then under the transfer's lock,
/// and by the transfer's completion.
final class FileSink: TransferSink, @unchecked Sendable {
    private let destination: URL
    /// Where the file goes: the destination, or what that leads to if it is a symbolic link.
    private var place: URL
    private let existing: DownloadDataSource.Existing
    private let mayResume: Bool
    private var recordPath: String { Self.partPath(for: place) + ".from" }

    private var part: PartFile?
    private var record: ResumeRecord?
    private var source: URL?
    private var hasBegun = false
    /// Whether the destination was made by `finish()`, where nothing was before.
    private var hasCreated = false

    /// How much there was of an earlier attempt, and was used.
    private(set) var resumedAt: Int64 = 0
    private(set) var byteCount: Int64 = 0

    init(_ destination: URL, _ existing: DownloadDataSource.Existing, mayResume: Bool) {
        self.destination = destination
        place = destination
        self.existing = existing
        self.mayResume = mayResume
    }

    /// Opens the part file, and gives the request to make: for the rest, if there is a beginning. Nil if what
    /// is there is to stay.
    func prepare(_ request: URLRequest) throws -> URLRequest? {
        if let found = Destination(destination) {
            if existing == .fail { throw DataSourceError.destinationExists(destination) }
            place = try found.file()
            if existing == .skip { return nil }
        }
        let part = try openPart()
        self.part = part
        source = request.url
        var request = request
        // Compressed, neither the announced length nor a range would be of the file.
        if request.value(forHTTPHeaderField: "Accept-Encoding") == nil {
            request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        guard part.byteCount > 0 else { return request }
        guard let record = ResumeRecord(contentsOf: recordPath), record.url == request.url else {
            try emptyPart()
            return request
        }
        self.record = record
        request.setValue("bytes=\(part.byteCount)-", forHTTPHeaderField: "Range")
        request.setValue(record.validator, forHTTPHeaderField: "If-Range")
        return request
    }

    func begin(_ response: HTTPURLResponse, announced: Int64?) throws -> Int64 {
        hasBegun = true
        guard let part else { return 0 }
        if response.statusCode == 206, let record, part.byteCount > 0 {
            let tag = ResumeRecord.validator(of: response)
            guard Self.start(of: response) == part.byteCount, tag == nil || tag == record.validator else {
                // Not worth keeping: the next attempt starts from nothing.
                self.record = nil
                throw DataSourceError.malformedResponse(
                    response.url ?? record.url, reason: "a part that was not asked for")
            }
            resumedAt = part.byteCount
            return part.byteCount
        }
        try emptyPart()
        if mayResume, let source, let record = ResumeRecord(response, for: source),
            record.write(to: recordPath)
        {
            self.record = record
        }
        return 0
    }

    func receive(_ data: Data) throws {
        do { try part?.append(data) } catch { throw cannotWrite(error) }
    }

    func request(insteadOf request: URLRequest) throws -> URLRequest? {
        guard record != nil, let part, part.byteCount > 0 else { return nil }
        try emptyPart()
        var whole = request
        whole.setValue(nil, forHTTPHeaderField: "Range")
        whole.setValue(nil, forHTTPHeaderField: "If-Range")
        return whole
    }

    func finish() throws {
        // A server that had nothing new to say has not begun.
        guard hasBegun, let part else { return discard() }
        var status = stat()
        let isNew = lstat(place.path, &status) != 0
        do {
            try part.move(to: place.path, replacing: existing == .replace)
        } catch {
            if error.code == EEXIST { throw DataSourceError.destinationExists(destination) }
            throw cannotWrite(error)
        }
        byteCount = part.byteCount
        hasCreated = isNew
        self.part = nil
        if mayResume { unlink(recordPath) }
    }

    func discard() {
        if hasCreated {
            hasCreated = false
            unlink(place.path)
        }
        guard let part else { return }
        self.part = nil
        if record != nil, part.byteCount > 0 { return part.close() }
        part.remove()
        if mayResume { unlink(recordPath) }
    }

    // MARK: The part file

    private func openPart() throws -> PartFile {
        do {
            if mayResume {
                guard let part = try PartFile.continuing(Self.partPath(for: place)) else {
                    throw DataSourceError.destinationBusy(destination)
                }
                return part
            }
            let unique = String(UInt32.random(in: .min ... .max), radix: 16)
            return try PartFile.creating(Self.partPath(for: place, unique))
        } catch let failure as PartFile.Failure {
            throw cannotWrite(failure)
        }
    }

    private func emptyPart() throws {
        record = nil
        do { try part?.empty() } catch { throw cannotWrite(error) }
    }

    private func cannotWrite(_ failure: PartFile.Failure) -> DataSourceError {
        .cannotWrite(destination, reason: failure.reason)
    }

    /// `name.part`, in the folder of the destination; a name that would become too long is cut, and told
    /// apart by a hash.
    private static func partPath(for destination: URL, _ unique: String? = nil) -> String {
        var name = destination.lastPathComponent
        if name.utf8.count > 200 {
            let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01b3
            }
            while name.utf8.count > 150 { name.removeLast() }
            name += "-" + String(hash, radix: 16)
        }
        let folder = destination.deletingLastPathComponent().path
        return folder + "/" + ([name, unique].compactMap { $0 } + ["part"]).joined(separator: ".")
    }

    /// Where the part that `Content-Range: bytes 100-199/200` announces begins.
    private static func start(of response: HTTPURLResponse) -> Int64? {
        guard let range = response.value(forHTTPHeaderField: "Content-Range"), range.hasPrefix("bytes ")
        else { return nil }
        return Int64(range.dropFirst(6).prefix { $0 != "-" })
    }
}
