internal import Foundation

/// Writes the body to a part file beside the destination, and moves that into place when it is whole (O5).
///
/// Which requests that takes (for the whole, for the rest, to the next mirror) is decided here, too.
///
/// Sound as `@unchecked Sendable`: it is touched before its transfer starts, then under the transfer's lock,
/// and by the transfer's completion.
final class FileSink: TransferSink, @unchecked Sendable {
    private let destination: URL
    private let options: DownloadOptions
    /// Where the file is moved to: the destination, or what that leads to if it is a symbolic link.
    private var place: URL
    private var recordFile: ResumeRecordFile { ResumeRecordFile(file: place, destination: destination) }

    private var part: PartFile?
    /// Whether the part file has the name that later downloads use.
    private var isShared = false
    /// The record of the bytes in the part file; nil if there are none, or if they belong to another request: then they
    /// stay until there are others to put in their place.
    private var record: ResumeRecord?
    /// The request for the whole, to the address that is being asked now.
    private var base: URLRequest
    private var mirrors: ArraySlice<URL>
    /// Whether an answer has been accepted whose body the file consists of; false after a 304.
    private var isAnswered = false
    /// How long the part file was when the present answer began.
    private var byteCountBefore: Int64 = 0

    /// Whether the part file has bytes of more than one address.
    private var isSpliced = false
    /// Whether it has those of an address that was used before this one, and has not been confirmed by an answer yet.
    private var hasMoved = false

    /// The file once it is in place, where nothing was before.
    private var created: PartFile?
    /// How much there was of an earlier attempt, and was used.
    private(set) var resumedAt: Int64 = 0
    private(set) var byteCount: Int64 = 0
    /// Whether a file appeared at the destination during the transfer, and is kept.
    private(set) var hasKeptOther = false

    init(_ destination: URL, _ options: DownloadOptions, for request: URLRequest) {
        self.destination = destination
        self.options = options
        place = destination
        // Compressed, neither the announced length nor a range would be of the file.
        base = request.adding("identity", for: "Accept-Encoding")
        mirrors = options.mirrors[...]
    }

    func reply(to question: TransferQuestion) throws -> TransferReply {
        switch question {
        case .prepare: return .request(try prepare())
        case .begin(let answer): return try begin(answer)
        case .completed:
            guard isAnswered else { return .complete }
            return try requestForRest().map { .request($0) } ?? verification()
        case .unsatisfiable(let response, _): return try reply(toUnsatisfiable: response)
        case .failed(let error, let cause):
            return try request(after: error, from: cause).map { .request($0) } ?? .nothing
        }
    }

    /// Opens the part file, and returns the request to make: for the rest, if there is a beginning.
    private func prepare() throws -> URLRequest {
        let found = try Destination(destination)
        if found.exists, options.existing == .fail { throw DataSourceError.destinationExists(destination) }
        place = try found.file()
        if options.createsFolders { try found.createFolders() }
        // Nil if a file of the part file's name is not a download's.
        if options.resumes, let (shared, found) = try recordFile.openPart() {
            part = shared
            isShared = true
            if let found, isOfThisDownload(found) { (record, resumedAt) = (found, shared.byteCount) }
            if record == nil, options.continuesOtherAddress, var found, found.mayBeOf(base) {
                found.url = base.errorURL.absoluteString
                (record, resumedAt, hasMoved) = (found, shared.byteCount, true)
            }
        }
        let path = Destination.partPath(for: place, unique: Destination.uniqueWord())
        part = try part ?? .creating(path, for: destination)
        return try nextRequest()
    }

    // MARK: The body

    private func begin(_ answer: TransferAnswer) throws -> TransferReply {
        guard let part else { return .body(before: 0, total: answer.announced) }
        isAnswered = true
        if answer.response.statusCode == 206, record != nil, part.byteCount > 0 {
            if let request = try requestUnlessContinuing(answer) { return .request(request) }
        } else {
            let new = ResumeRecord(answer, to: base)
            // A part file stays if this answer is not the file that is expected.
            try checkLength(totalByteCount(of: new), isMore: false)
            try emptyPart()
            record = new
        }
        if isShared, let record, !recordFile.write(record) { self.record?.validator = nil }
        byteCountBefore = part.byteCount
        let total = totalByteCount(of: record)
        try checkLength(total, isMore: false)
        return .body(before: part.byteCount, total: total)
    }

    func receive(_ data: Data) throws -> Bool {
        guard let part else { return false }
        try checkLength(part.byteCount + Int64(data.count), isMore: true)
        try part.append(data)
        return false
    }

    /// Throws if the length that is announced, or has arrived, is not the one expected.
    private func checkLength(_ byteCount: Int64?, isMore: Bool) throws(DataSourceError) {
        guard let expected = options.expectedByteCount, let byteCount,
            isMore ? byteCount > expected : byteCount != expected
        else { return }
        throw .unexpectedLength(base.errorURL, expected: expected, actual: byteCount)
    }

    private func emptyPart() throws(DataSourceError) {
        record = nil
        (isSpliced, hasMoved) = (false, false)
        resumedAt = 0
        try part?.truncate()
    }

    // MARK: The end

    fileprivate func verification() throws -> TransferReply {
        guard let part else { return .complete }
        try checkLength(part.byteCount, isMore: false)
        guard let verify = options.verify else { return .complete }
        let file = URL(fileURLWithPath: part.path)
        let (byteCount, destination) = (part.byteCount, destination)
        return .verify {
            try verify(file)
            // A file that has been removed or replaced is noticed when it is moved.
            guard let size = FileSystem.status(file.path)?.st_size, Int64(size) != byteCount else { return }
            throw DataSourceError.cannotWrite(
                destination,
                reason: "the part file had \(byteCount) bytes and has \(size) after its verification")
        }
    }

    func finish() throws {
        guard isAnswered, let part else { return _ = discard() }
        let isNew = FileSystem.status(place.path, ofLink: true) == nil
        do {
            try part.move(to: place.path, replacing: options.existing == .replace)
        } catch DataSourceError.destinationExists where options.existing == .skip {
            hasKeptOther = true
            return _ = discard()
        }
        byteCount = part.byteCount
        if isNew { created = part }
        self.part = nil
        if isShared { recordFile.remove() }
    }

    func discard() -> PartFile? {
        if let created, created.hasName(place.path) { unlink(place.path) }
        guard let removed = part.take() else { return created.take() }
        // Without a validator, no later download could continue it.
        let mayBeContinued = record.map { $0.validator != nil } ?? true
        if isShared, removed.byteCount > 0, mayBeContinued, !hasKeptOther { return removed }
        removed.remove()
        if isShared { recordFile.remove() }
        return removed
    }
}

/// Which requests a download makes: for the whole, for the rest, to the next mirror.
extension FileSink {
    /// Whether a part file with that record is one of this download's: of one of its addresses, and of the same
    /// part of it.
    fileprivate func isOfThisDownload(_ record: ResumeRecord) -> Bool {
        let isOfMirror = options.mirrors.contains { $0.withoutUserInfo.absoluteString == record.url }
        return record.isOf(base) || isOfMirror && record.range == base.value(forHTTPHeaderField: "Range")
    }

    /// How long a file with that record will be; nil if that is not known.
    fileprivate func totalByteCount(of record: ResumeRecord?) -> Int64? {
        guard let offset = record?.offset else { return record?.total }
        return RequestedRange(first: offset, last: lastWanted).byteCount(of: record?.total)
    }

    /// The position of the last byte, if the caller's own request is for a range with an end.
    private var lastWanted: Int64? { base.requestedRange?.last }

    /// The position in the resource of the byte after those in the part file.
    private var position: Int64 { (record?.offset ?? 0) + (part?.byteCount ?? 0) }

    /// Whether the part file has bytes of the very address that is being asked now.
    private var isSameAddress: Bool { record?.isOf(base) == true }

    /// Returns the request for the rest of the part file, or for the whole if that cannot be continued.
    ///
    /// A mirror is not asked by the first server's validator; what it answers is compared with what is known
    /// (``requestUnlessContinuing(_:)``). That is only done for bytes that a server has sent, or confirmed, to this
    /// download: what an earlier one has left, only its own address continues.
    fileprivate func nextRequest() throws(DataSourceError) -> URLRequest {
        guard let part, let record, part.byteCount > 0,
            isSameAddress ? record.validator != nil : isAnswered && record.total != nil
        else { return base }
        let last = record.offset == nil ? nil : lastWanted
        if part.byteCount == totalByteCount(of: record), last != nil {
            // Complete; the last byte is fetched again, because a range of nothing can't be asked for.
            try part.truncate(to: part.byteCount - 1)
            guard part.byteCount > 0 else { return base }
        }
        return base.asking(from: position, to: last, if: isSameAddress ? record.validator : nil)
    }

    /// Checks that a 206 continues the part file.
    ///
    /// - Returns: Nil if it does; a request for the whole if the server does not confirm the validator, or if a mirror has
    ///   something else than the server before it.
    /// - Throws: ``DataSourceError/malformedResponse(_:reason:)`` if the server itself contradicts what it sent before,
    ///   and sends the same validator; the part file is not worth keeping then.
    fileprivate func requestUnlessContinuing(
        _ answer: TransferAnswer
    ) throws(DataSourceError) -> URLRequest? {
        guard let record else { return nil }
        var new = ResumeRecord(answer, to: base)
        let isConfirmed = record.isConfirmed(by: answer.response)
        let dates = [new.lastModified, record.lastModified].compactMap { $0 }
        let isSame =
            hasMoved
            ? isConfirmed && new.total == record.total
            : isSameAddress
                ? isConfirmed && (new.total == record.total || new.total == nil || record.total == nil)
                : new.total == record.total && (dates.count < 2 || dates[0] == dates[1])
        guard new.offset == position, isSame else {
            // Without the validator that it was asked by, it may be a part of anything: the whole is requested.
            if isSameAddress, !hasMoved, isConfirmed {
                throw .malformedResponse(base.errorURL, reason: "a part that was not asked for")
            }
            try emptyPart()
            return base
        }
        hasMoved = false
        new.total = new.total ?? record.total
        new.offset = record.offset
        new.lastModified = dates.first
        if isSameAddress { new.validator = record.validator } else { isSpliced = true }
        self.record = new
        return nil
    }

    fileprivate func requestForRest() throws -> URLRequest? {
        guard let part, let record, let total = totalByteCount(of: record), part.byteCount < total
        else { return nil }
        // A server that sends nothing new would be asked endlessly.
        guard part.byteCount > byteCountBefore, record.validator != nil else {
            throw DataSourceError.truncated(base.errorURL, received: part.byteCount, expected: total)
        }
        return try nextRequest()
    }

    /// Replies to a 416, which may say that the part file is already complete. Otherwise asks for the whole, unless
    /// that was the answer to the caller's own range.
    fileprivate func reply(toUnsatisfiable response: HTTPURLResponse) throws -> TransferReply {
        guard let part, let record, part.byteCount > 0 else { return .nothing }
        let total = response.value(forHTTPHeaderField: "Content-Range").flatMap { ContentRange($0) }?.total
        let tag = ResumeRecord.validator(of: response)
        isAnswered =
            total == position && !hasMoved
            && (!isSameAddress || tag == nil || record.isConfirmed(by: response))
            && (record.total == nil || record.total == total)
        if isAnswered { return try verification() }
        try emptyPart()
        return .request(base)
    }

    fileprivate func request(after error: any Error, from cause: FailureCause) throws -> URLRequest? {
        let wasSpliced = isSpliced
        // A body that failed the check, or answers another request, cannot be continued later either.
        switch (cause, error) {
        case (.verification, _): try emptyPart()
        case (.transfer, DataSourceError.malformedResponse) where record != nil: try emptyPart()
        default: break
        }
        // The fault may be in what another address has sent.
        if cause == .verification, wasSpliced { return base }
        if case DataSourceError.cannotWrite = error { return nil }
        guard !(error is CancellationError), let mirror = mirrors.popFirst() else { return nil }
        base.move(to: mirror)
        return try nextRequest()
    }
}
