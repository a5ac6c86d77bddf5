internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Reads the length that an answer announces.
extension HTTPURLResponse {
    /// Whether the body is compressed: the lengths and ranges in the headers are then not those of the delivered bytes.
    var hasContentEncoding: Bool {
        value(forHTTPHeaderField: "Content-Encoding").map { $0.lowercased() != "identity" } ?? false
    }

    /// How many bytes the body is to have once it is decoded; nil if the headers do not say it.
    ///
    /// With `Transfer-Encoding: chunked`, a `Content-Length` is ignored (RFC 9112, 6.3).
    ///
    /// - Throws: ``DataSourceError/malformedResponse(_:reason:)`` for a length that no number can represent:
    ///   libcurl ignores it, and reads until the connection ends.
    func announcedLength(for request: URLRequest) throws(DataSourceError) -> Int64? {
        if request.httpMethod == "HEAD" || statusCode == 204 || statusCode == 304 { return nil }
        if value(forHTTPHeaderField: "Transfer-Encoding")?.lowercased().contains("chunked") == true {
            return nil
        }
        guard let text = value(forHTTPHeaderField: "Content-Length"), !text.isEmpty,
            text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
        else { return nil }
        guard let length = Int64(text) else {
            throw .malformedResponse(request.errorURL, reason: "a Content-Length of \(text)")
        }
        return hasContentEncoding ? nil : length
    }

    /// The part that this 206 is; nil for another status, and for a 206 with several ranges or a compressed one.
    ///
    /// - Throws: ``DataSourceError/malformedResponse(_:reason:)`` if it is not the part that was requested.
    func checkedPart(askedBy request: URLRequest) throws(DataSourceError) -> ContentRange? {
        guard statusCode == 206 else { return nil }
        let url = request.errorURL
        guard let range = request.value(forHTTPHeaderField: "Range") else {
            throw .malformedResponse(url, reason: "a part (206) that was not asked for")
        }
        let type = value(forHTTPHeaderField: "Content-Type")?.lowercased() ?? ""
        if hasContentEncoding || type.hasPrefix("multipart/byteranges") { return nil }
        let header = value(forHTTPHeaderField: "Content-Range")
        guard let part = header.flatMap({ ContentRange($0) }), let bytes = part.bytes else {
            let words = header.map { "the Content-Range \"\($0)\"" } ?? "a part (206) without Content-Range"
            throw .malformedResponse(url, reason: words)
        }
        guard let asked = RequestedRange(range) else { return part }
        guard bytes.lowerBound == asked.first, bytes.upperBound <= asked.last ?? .max else {
            throw .malformedResponse(url, reason: "a part that was not asked for")
        }
        return part
    }
}

extension URLRequest {
    /// Whether the server may answer that nothing has changed.
    var isConditional: Bool {
        value(forHTTPHeaderField: "If-None-Match") != nil
            || value(forHTTPHeaderField: "If-Modified-Since") != nil
    }
}
