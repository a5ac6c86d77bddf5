internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Which requests a download makes: for the whole, for the rest, to the next mirror.
extension FileSink {
    /// Whether a part file with that record is one of this download's: of one of its addresses, and of the same
    /// part of it.
    func isOfThisDownload(_ record: ResumeRecord) -> Bool {
        let range = base.value(forHTTPHeaderField: "Range")
        return ([base.url] + plan.mirrors).contains { record.isOf($0, range: range) }
    }

    /// How long the file will be; nil if that is not known.
    var totalByteCount: Int64? {
        guard let record else { return nil }
        guard record.offset != nil else { return record.total }
        return wanted?.byteCount(of: record.total)
    }

    /// The caller's own range, if that is what the part file has bytes of.
    private var wanted: RequestedRange? {
        guard let record, let offset = record.offset else { return nil }
        let asked = base.value(forHTTPHeaderField: "Range").flatMap { RequestedRange($0) }
        return RequestedRange(first: offset, last: asked?.last)
    }

    /// Whether the part file has bytes of the very address that is being asked now.
    private var isSameAddress: Bool {
        record?.isOf(base.url, range: base.value(forHTTPHeaderField: "Range")) == true
    }

    /// Returns the request for the rest of the part file, or for the whole if that cannot be continued.
    ///
    /// A mirror is not asked by the first server's validator; what it answers is compared with what is known
    /// (``requestUnlessContinuing(_:_:)``).
    func nextRequest() throws(DataSourceError) -> URLRequest {
        guard let part, let record, part.byteCount > 0,
            isSameAddress ? record.validator != nil : record.total != nil
        else { return base }
        if part.byteCount == totalByteCount, wanted?.last != nil {
            // Complete; the last byte is fetched again, because a range of nothing can't be asked for.
            do { try part.truncate(to: part.byteCount - 1) } catch { throw cannotWrite(error) }
            guard part.byteCount > 0 else { return base }
        }
        var request = base
        let rest = RequestedRange(first: (record.offset ?? 0) + part.byteCount, last: wanted?.last)
        request.setValue(rest.header, forHTTPHeaderField: "Range")
        request.setValue(isSameAddress ? record.validator : nil, forHTTPHeaderField: "If-Range")
        return request
    }

    /// Checks that a 206 continues the part file.
    ///
    /// - Returns: Nil if it does; another request if a mirror has something else than the server before it.
    /// - Throws: ``DataSourceError/malformedResponse(_:reason:)`` if the server itself contradicts what it sent before;
    ///   the part file is not worth keeping then.
    func requestUnlessContinuing(_ response: HTTPURLResponse, _ range: ContentRange?) throws(DataSourceError)
        -> URLRequest?
    {
        guard let part, var record, let url = base.url else { return nil }
        let isSameAddress = isSameAddress
        let tag = ResumeRecord.validator(of: response)
        let date = response.value(forHTTPHeaderField: "Last-Modified")
        let isRest = range?.bytes?.lowerBound == (record.offset ?? 0) + part.byteCount
        let hasSameLength = range?.total == record.total
        let isSame =
            isSameAddress
            ? (tag == nil || tag == record.validator)
                && (hasSameLength || range?.total == nil || record.total == nil)
            : hasSameLength && (date == nil || record.lastModified == nil || date == record.lastModified)
        guard isRest, isSame else {
            if isSameAddress {
                throw .malformedResponse(base.errorURL, reason: "a part that was not asked for")
            }
            try emptyPart()
            return base
        }
        if !isSameAddress {
            var other = ResumeRecord(response, for: url, range: record.range)
            other.offset = record.offset
            other.lastModified = date ?? record.lastModified
            record = other
            isSpliced = true
        }
        record.total = range?.total ?? self.record?.total
        self.record = record
        return nil
    }

    func requestForRest(after response: HTTPURLResponse) throws -> URLRequest? {
        guard let part, let record, let total = totalByteCount, part.byteCount < total else { return nil }
        // A server that sends nothing new would be asked endlessly.
        guard part.byteCount > byteCountBefore, record.validator != nil else {
            throw DataSourceError.truncated(base.errorURL, received: part.byteCount, expected: total)
        }
        return try nextRequest()
    }

    func use(ofUnsatisfiable response: HTTPURLResponse) throws -> UnsatisfiableUse {
        guard let part, let record, part.byteCount > 0 else { return .failure }
        let range = response.value(forHTTPHeaderField: "Content-Range").flatMap { ContentRange($0) }
        let tag = ResumeRecord.validator(of: response)
        let isUnchanged = !isSameAddress || tag == nil || tag == record.validator
        if let total = range?.total, total == (record.offset ?? 0) + part.byteCount, isUnchanged,
            record.total == nil || record.total == total
        {
            isAnswered = true
            return .complete
        }
        try emptyPart()
        return .resend(base)
    }

    func request(after error: any Error, from cause: FailureCause) -> URLRequest? {
        let wasSpliced = isSpliced
        let isVerification = cause == .verification
        if isVerification || cause == .transfer && record != nil && isMalformed(error) {
            // A body that failed the check, or answers another request, cannot be continued later either.
            do { try emptyPart() } catch { return nil }
        }
        // The fault may be in what another address has sent.
        if isVerification, wasSpliced { return base }
        guard mayBeElsewhere(error), let mirror = mirrors.popFirst() else { return nil }
        let previous = base.url
        base.url = mirror
        if let previous { base.dropCredentials(unlessSameOrigin: mirror, previous) }
        return try? nextRequest()
    }

    private func isMalformed(_ error: any Error) -> Bool {
        if case DataSourceError.malformedResponse = error { true } else { false }
    }

    /// Whether another server may do better.
    private func mayBeElsewhere(_ error: any Error) -> Bool {
        switch error as? DataSourceError {
        case .cannotWrite, .destinationExists, .destinationBusy, .timedOut(_, .total): false
        default: !(error is CancellationError)
        }
    }
}
