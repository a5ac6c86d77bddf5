public import Foundation

/// A form with fields and files, to be sent as `multipart/form-data` in constant memory.
///
/// ```swift
/// var form = MultipartForm()
/// form.add("title", "Holidays")
/// form.add("photo", file: photo, contentType: "image/jpeg")
/// var options = TransferOptions()
/// options.uploadForm = form
/// URLDataSource(request, options: options).request(on: queue)
/// ```
///
/// The transfer writes the body to a temporary file before it starts, on its queue's thread: so its length is known,
/// and it can be sent again after a redirect or a challenge. On Linux the file has no name, so that nothing is left of
/// it if the process is killed; elsewhere it is removed when the transfer has ended.
/// ``TransferOptions/totalTimeout`` applies to the writing too.
public struct MultipartForm: Sendable {
    private var parts: [(head: String, data: Data, file: URL?)] = []
    private let boundary = "part-" + UUID().uuidString

    /// Creates an empty form.
    public init() {}

    /// The value of the request's `Content-Type`.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// Adds a field.
    public mutating func add(_ name: String, _ value: String) {
        append(name, nil, nil, value.asUTF8)
    }

    /// Adds bytes as a file.
    public mutating func add(
        _ name: String, data: Data, fileName: String, contentType: String = "application/octet-stream"
    ) {
        append(name, fileName, contentType, data)
    }

    /// Adds a regular file, which is read when the transfer starts.
    ///
    /// - Parameter fileName: What the server is to call it; nil for its own name.
    public mutating func add(
        _ name: String, file: URL, fileName: String? = nil, contentType: String = "application/octet-stream"
    ) {
        append(name, fileName ?? file.lastPathComponent, contentType, file: file)
    }

    private mutating func append(
        _ name: String, _ fileName: String?, _ contentType: String?, _ data: Data = Data(), file: URL? = nil
    ) {
        var head = "Content-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { head += "; filename=\"\(Self.escaped(fileName))\"" }
        if let contentType {
            let line = contentType.split(whereSeparator: \.isNewline).joined(separator: " ")
            head += "\r\nContent-Type: \(line)"
        }
        parts.append((head, data, file))
    }

    /// A name as it stands between quotation marks: escaped as browsers do (the HTML standard).
    private static func escaped(_ name: String) -> String {
        // Literally: a line break of two characters counts as one otherwise.
        [("\"", "%22"), ("\r", "%0D"), ("\n", "%0A")].reduce(name) { name, escape in
            name.replacingOccurrences(of: escape.0, with: escape.1, options: .literal)
        }
    }

    // MARK: Writing

    /// Writes the body.
    ///
    /// - Parameter isCancelled: Called before each part and each piece of a file.
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)`` for a file that cannot be read or is not a
    ///   regular one, and `CancellationError` if `isCancelled` returns true.
    func write(to target: PartFile, for request: URL, unless isCancelled: () -> Bool) throws {
        for part in parts {
            if isCancelled() { throw CancellationError() }
            try target.append("--\(boundary)\r\n\(part.head)\r\n\r\n".asUTF8)
            try target.append(part.data)
            if let file = part.file {
                try file.checkUpload(to: request, isPart: true)
                do {
                    try target.append(contentsOf: file, unless: isCancelled)
                } catch  where !(error is CancellationError || error is DataSourceError) {
                    let reason = "\(file.path) cannot be read for the upload: \(error.localizedDescription)"
                    throw DataSourceError.invalidRequest(request, reason: reason)
                }
            }
            try target.append("\r\n".asUTF8)
        }
        try target.append("--\(boundary)--\r\n".asUTF8)
    }
}

extension String {
    /// Its bytes. `Data(utf8)` would compile a copy of the generic initialiser into each program, of 3 kB.
    var asUTF8: Data { data(using: .utf8) ?? Data() }
}
