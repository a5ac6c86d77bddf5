internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Writes the body to a part file beside the destination, and moves that into place when it is whole (O5).
///
/// `FileSink+Requests.swift` decides which requests that takes.
///
/// Sound as `@unchecked Sendable`: it is touched before its transfer starts, then under the transfer's lock,
/// and by the transfer's completion.
final class FileSink: TransferSink, @unchecked Sendable {
    let plan: DownloadPlan
    /// Where the file is moved to: the destination, or what that leads to if it is a symbolic link.
    private var place: URL
    private var recordFile: ResumeRecordFile {
        ResumeRecordFile(path: DownloadPlan.partPath(for: place) + ".from")
    }

    private(set) var part: PartFile?
    /// Whether the part file has the name that later downloads use.
    private var isShared = false
    /// Whether the part file belongs to another request: it stays until there are bytes to put in
    /// its place.
    private var isStale = false
    /// The record of the bytes in the part file; nil if there are none, or if they are stale.
    var record: ResumeRecord?
    /// The request for the whole, to the address that is being asked now.
    var base: URLRequest
    var mirrors: ArraySlice<URL>
    /// Whether an answer has been accepted whose body the file consists of; false after a 304.
    var isAnswered = false
    /// How long the part file was when the present answer began.
    private(set) var byteCountBefore: Int64 = 0

    /// Whether the part file has bytes of more than one address.
    var isSpliced = false

    /// The file once it is in place, where nothing was before.
    private var created: PartFile?
    /// How much there was of an earlier attempt, and was used.
    private(set) var resumedAt: Int64 = 0
    private(set) var byteCount: Int64 = 0
    /// Whether a file appeared at the destination during the transfer, and is kept.
    private(set) var hasKeptOther = false

    init(_ plan: DownloadPlan, for request: URLRequest) {
        self.plan = plan
        place = plan.destination
        base = request
        mirrors = plan.mirrors[...]
        // Compressed, neither the announced length nor a range would be of the file.
        if base.value(forHTTPHeaderField: "Accept-Encoding") == nil {
            base.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
    }

    /// Opens the part file, and returns the request to make: for the rest, if there is a beginning. Nil if what
    /// is at the destination is to stay.
    func prepare() throws -> URLRequest? {
        if let found = try Destination.find(plan.destination) {
            if plan.existing == .fail { throw DataSourceError.destinationExists(plan.destination) }
            place = try found.file()
            if plan.existing == .skip { return nil }
        }
        try plan.createFolders()
        let part: PartFile
        do { part = try openPart() } catch let failure as PartFile.Failure { throw cannotWrite(failure) }
        self.part = part
        resumedAt = record == nil ? 0 : part.byteCount
        return try nextRequest()
    }

    private func openPart() throws -> PartFile {
        guard plan.resumes else { return try openUniquePart() }
        if case .foreign = try recordFile.read() { return try openUniquePart() }
        var found: ResumeRecord?
        let opening = try PartFile.continuing(DownloadPlan.partPath(for: place)) {
            if case .record(let record)? = try? recordFile.read() { found = record }
            return found != nil
        }
        switch opening {
        case .foreign: return try openUniquePart()
        case .busy: throw DataSourceError.destinationBusy(plan.destination)
        case .opened(let part):
            isShared = true
            isStale = part.byteCount > 0
            if let found, isStale, isOfThisDownload(found) {
                isStale = false
                record = found
            }
            return part
        }
    }

    private func openUniquePart() throws(PartFile.Failure) -> PartFile {
        let unique = String(UInt32.random(in: .min ... .max), radix: 16)
        return try PartFile.creating(DownloadPlan.partPath(for: place, unique: unique))
    }

    // MARK: The body

    func begin(_ response: HTTPURLResponse, part range: ContentRange?, announced: Int64?) throws -> AnswerUse
    {
        guard let part else { return .body(before: 0, total: announced) }
        isAnswered = true
        if response.statusCode == 206, record != nil, part.byteCount > 0 {
            if let request = try requestUnlessContinuing(response, range) { return .resend(request) }
        } else {
            let previous = record
            let new = newRecord(for: response, range, announced)
            // A part file stays if this answer is not the file that is expected.
            record = new
            do { try checkLength(totalByteCount, isMore: false) } catch {
                record = previous
                throw error
            }
            try emptyPart()
            record = new
        }
        if isShared, let record, !recordFile.write(record) { self.record?.validator = nil }
        byteCountBefore = part.byteCount
        let total = totalByteCount
        try checkLength(total, isMore: false)
        return .body(before: part.byteCount, total: total)
    }

    private func newRecord(for response: HTTPURLResponse, _ range: ContentRange?, _ announced: Int64?)
        -> ResumeRecord?
    {
        guard let url = base.url else { return nil }
        var record = ResumeRecord(response, for: url, range: base.value(forHTTPHeaderField: "Range"))
        if response.statusCode == 206 {
            record.offset = range?.bytes?.lowerBound
            record.total = range?.total
            // Several ranges in one body, or compressed ones, can't be continued.
            if range == nil { record.validator = nil }
        } else {
            record.total = announced
            if response.hasContentEncoding { record.validator = nil }
        }
        return record
    }

    func receive(_ data: Data) throws {
        guard let part else { return }
        try checkLength(part.byteCount + Int64(data.count), isMore: true)
        do { try part.append(data) } catch { throw cannotWrite(error) }
    }

    /// Throws if the length that is announced, or has arrived, is not the one expected.
    private func checkLength(_ byteCount: Int64?, isMore: Bool) throws(DataSourceError) {
        guard let expected = plan.expectedByteCount, let byteCount,
            isMore ? byteCount > expected : byteCount != expected
        else { return }
        throw .unexpectedLength(base.errorURL, expected: expected, actual: byteCount)
    }

    func emptyPart() throws(DataSourceError) {
        record = nil
        isStale = false
        isSpliced = false
        resumedAt = 0
        do { try part?.truncate() } catch { throw cannotWrite(error) }
    }

    func cannotWrite(_ failure: PartFile.Failure) -> DataSourceError {
        .cannotWrite(plan.destination, reason: failure.reason)
    }

    // MARK: The end

    func verification() throws -> (@Sendable () throws -> Void)? {
        guard let part, isAnswered else { return nil }
        try checkLength(part.byteCount, isMore: false)
        guard let verify = plan.verify else { return nil }
        let file = URL(fileURLWithPath: part.path)
        let (byteCount, destination) = (part.byteCount, plan.destination)
        return {
            try verify(file)
            // A file that has been removed or replaced is noticed when it is moved.
            var status = stat()
            guard stat(file.path, &status) == 0, Int64(status.st_size) != byteCount else { return }
            throw DataSourceError.cannotWrite(
                destination,
                reason:
                    "the part file had \(byteCount) bytes and has \(status.st_size) after its verification")
        }
    }

    func finish() throws {
        guard isAnswered, let part else { return discard() }
        var status = stat()
        let isNew = lstat(place.path, &status) != 0
        do {
            try part.move(to: place.path, replacing: plan.existing == .replace)
        } catch {
            guard error.code == EEXIST else { throw cannotWrite(error) }
            guard plan.existing == .skip else { throw DataSourceError.destinationExists(plan.destination) }
            hasKeptOther = true
            isStale = false
            record = nil
            return discard()
        }
        byteCount = part.byteCount
        if isNew { created = part }
        self.part = nil
        if isShared { recordFile.remove() }
    }

    func discard() {
        if let created, created.isNamed(place.path) { unlink(place.path) }
        created = nil
        guard let part else { return }
        self.part = nil
        if isShared, part.byteCount > 0, isStale || mayBeContinuedLater { return part.close() }
        part.remove()
        if isShared { recordFile.remove() }
    }

    private var mayBeContinuedLater: Bool {
        guard let record else { return false }
        return record.validator != nil || !plan.mirrors.isEmpty && record.total != nil
    }
}
