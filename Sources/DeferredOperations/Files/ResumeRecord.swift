internal import Foundation

/// The data needed to continue a part file. It is stored in a separate file beside that, readable by its
/// owner only.
struct ResumeRecord: Codable, Equatable {
    /// The address that was requested, without user and password.
    let url: String
    /// The caller's own `Range` header.
    var range: String?
    /// The validator for `If-Range`: a strong entity tag or a date.
    /// Nil if the server sent neither: the part can't be continued by a later download.
    var validator: String?
    /// The date that the server sent, which several mirrors of one file are likely to share.
    var lastModified: String?
    /// The position in the resource of the part file's first byte; nil for 0.
    var offset: Int64?
    /// The length of the whole resource, if it is known.
    var total: Int64?

    /// Creates a record for a part file that another program has left.
    init(for url: URL, range: String?, validator: String) {
        self.url = url.withoutUserInfo.absoluteString
        self.range = range
        self.validator = validator
    }

    /// Creates a record of the answer `response` to a request for `url`.
    init(_ response: HTTPURLResponse, for url: URL, range: String?) {
        self.url = url.withoutUserInfo.absoluteString
        self.range = range
        lastModified = response.value(forHTTPHeaderField: "Last-Modified")
        if response.value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() != "none" {
            validator = Self.validator(of: response)
        }
    }

    /// Whether a request for `url` with that `Range` header asks for the same thing.
    func isOf(_ url: URL?, range: String?) -> Bool {
        self.url == url?.withoutUserInfo.absoluteString && self.range == range
    }

    /// Returns a strong entity tag or the date; a weak tag does not identify bytes.
    static func validator(of response: HTTPURLResponse) -> String? {
        if let tag = response.value(forHTTPHeaderField: "ETag"), !tag.isEmpty, !tag.hasPrefix("W/") {
            return tag
        }
        return response.value(forHTTPHeaderField: "Last-Modified")
    }
}

/// The file that a ``ResumeRecord`` is kept in: beside the part file for `file`, which is what `destination` leads to.
struct ResumeRecordFile {
    let file: URL
    let destination: URL
    private var path: String { Destination.partPath(for: file) + ".from" }

    /// The result of reading the file.
    enum Finding {
        case nothing
        case record(ResumeRecord)
        /// A file that no download has made.
        case foreign
    }

    /// Reads the file, without following symbolic links.
    ///
    /// - Throws: ``DataSourceError/cannotWrite(_:reason:)`` if it is not a regular file.
    func read() throws(DataSourceError) -> Finding {
        var status = stat()
        guard lstat(path, &status) == 0 else { return .nothing }
        let descriptor = try PartFile.opened(path, O_RDONLY, for: destination)
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        status = PartFile.status(of: descriptor)
        guard status.st_size <= 1 << 16, status.st_uid == geteuid(),
            let data = try? handle.read(upToCount: 1 << 16),
            let record = try? JSONDecoder().decode(ResumeRecord.self, from: data)
        else { return .foreign }
        return .record(record)
    }

    /// Writes the record, in one step; false if that could not be done.
    func write(_ record: ResumeRecord) -> Bool {
        guard let data = try? JSONEncoder().encode(record),
            let file = try? PartFile.creating("\(path).\(Destination.uniqueWord())", for: destination)
        else { return false }
        guard (try? file.append(data)) != nil, rename(file.path, path) == 0 else {
            file.remove()
            return false
        }
        return true
    }

    /// Removes the file, if it is a record.
    func remove() {
        if case .record? = try? read() { unlink(path) }
    }
}
