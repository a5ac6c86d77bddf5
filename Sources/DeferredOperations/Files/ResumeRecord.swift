internal import Foundation

/// The data needed to continue a part file. It is stored in a separate file beside that, readable by its
/// owner only.
struct ResumeRecord: Codable, Equatable {
    /// The address that was requested, without user and password.
    var url: String
    /// The caller's own `Range` header.
    var range: String?
    /// The validator for `If-Range`: a strong entity tag or a date.
    /// Nil if the server sent neither: the part can't be continued by a later download, and is not left for one.
    var validator: String?
    /// The date that the server sent. While a download goes on, it is compared with that of the next mirror.
    var lastModified: String?
    /// The position in the resource of the part file's first byte; nil for 0.
    var offset: Int64?
    /// The length of the whole resource, if it is known.
    var total: Int64?

    /// Creates a record for a part file that another program has left.
    init(for request: URLRequest, validator: String?) {
        url = request.errorURL.absoluteString
        range = request.value(forHTTPHeaderField: "Range")
        self.validator = validator
    }

    /// Creates a record of an answer to a request.
    init(_ answer: TransferAnswer, to request: URLRequest) {
        self.init(for: request, validator: nil)
        let (response, part) = (answer.response, answer.part)
        let isPart = response.statusCode == 206
        lastModified = response.value(forHTTPHeaderField: "Last-Modified")
        offset = part?.bytes?.lowerBound
        total = isPart ? part?.total : answer.announced
        // Several ranges in one body, or compressed ones, can't be continued.
        let isPlain = isPart ? part != nil : !answer.isDecoded
        if isPlain, response.value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() != "none" {
            validator = Self.validator(of: response)
        }
    }

    /// Whether that request asks for the same thing.
    func isOf(_ request: URLRequest) -> Bool {
        url == request.errorURL.absoluteString && range == request.value(forHTTPHeaderField: "Range")
    }

    /// Whether that request asks for the same path on any host, by any query, and what the part file has is identified
    /// by a strong entity tag: an address that was signed for a time, say, and has been signed again.
    func mayBeOf(_ request: URLRequest) -> Bool {
        validator?.hasPrefix("\"") == true && total != nil
            && URL(string: url)?.path == request.errorURL.path
            && range == request.value(forHTTPHeaderField: "Range")
    }

    /// Whether an answer has the validator of the part file.
    ///
    /// A 206 that answers `If-Range` must have the `ETag` that a 200 would have (RFC 9110, 15.3.7), and servers send
    /// `Last-Modified`, too. One that has neither may come from a server that ignores `If-Range`.
    func isConfirmed(by response: HTTPURLResponse) -> Bool {
        response.hasValidator(validator)
    }

    /// Returns a strong entity tag or the date; a weak tag does not identify bytes, nor does a date in the second in
    /// which the server has answered: it may change once more in that second (RFC 9110, 8.8.2.2).
    static func validator(of response: HTTPURLResponse) -> String? {
        let tag = response.value(forHTTPHeaderField: "ETag") ?? ""
        if !tag.isEmpty, !tag.hasPrefix("W/") { return tag }
        guard let modified = response.value(forHTTPHeaderField: "Last-Modified") else { return nil }
        guard let answered = response.value(forHTTPHeaderField: "Date") else { return modified }
        let formatter = HTTPDate.formatter
        guard let last = formatter.date(from: modified), let now = formatter.date(from: answered) else {
            return modified
        }
        return now.timeIntervalSince(last) >= 1 ? modified : nil
    }
}

/// The file that a ``ResumeRecord`` is kept in: beside the part file for `file`, which is what `destination` leads to.
struct ResumeRecordFile {
    let file: URL
    let destination: URL
    private var path: String { Destination.partPath(for: file) + ".from" }

    /// Opens the part file that later downloads find, and returns it with the record of its bytes, if it has any.
    ///
    /// - Returns: Nil if there is a file of either name that is not a download's.
    func openPart() throws(DataSourceError) -> (part: PartFile, record: ResumeRecord?)? {
        if case .some(nil) = try read() { return nil }
        var record: ResumeRecord?
        let part = try PartFile.continuing(Destination.partPath(for: file), for: destination) {
            record = (try? read()) ?? nil
            return record != nil
        }
        return part.map { ($0, record) }
    }

    /// Reads the file, without following symbolic links.
    ///
    /// - Returns: Nil if there is none, and a nil record for a file that no download has made.
    /// - Throws: ``DataSourceError/cannotWrite(_:reason:)`` if it is not a regular file.
    private func read() throws(DataSourceError) -> ResumeRecord?? {
        if FileSystem.status(path, ofLink: true) == nil { return nil }
        let descriptor = try PartFile.opened(path, O_RDONLY, for: destination)
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let status = PartFile.status(of: descriptor)
        guard status.st_size <= 1 << 16, status.st_uid == geteuid(),
            let data = try? handle.read(upToCount: 1 << 16)
        else { return .some(nil) }
        return .some(try? JSONDecoder().decode(ResumeRecord.self, from: data))
    }

    /// Writes the record, in one step; false if that could not be done.
    func write(_ record: ResumeRecord) -> Bool {
        guard let data = try? JSONEncoder().encode(record),
            let file = try? PartFile.creating("\(path).\(Destination.uniqueWord())", for: destination)
        else { return false }
        let isWritten = (try? file.append(data)) != nil && rename(file.path, path) == 0
        if !isWritten { file.remove() }
        return isWritten
    }

    /// Removes the file, if it is a record.
    func remove() {
        if let found = try? read(), found != nil { unlink(path) }
    }
}
