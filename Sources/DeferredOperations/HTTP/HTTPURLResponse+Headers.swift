#if canImport(FoundationNetworking)
internal import Foundation
#else
package import Foundation
#endif

/// Reads the length that an answer announces.
extension HTTPURLResponse {
    /// The headers, names as sent.
    var headers: [String: String] { allHeaderFields.reduce(into: [:]) { $0["\($1.key)"] = "\($1.value)" } }

    /// The codings that change the bytes of the body, in lower case, in the order in which they were applied.
    ///
    /// Servers also name codings there that are none (O14): `identity` and `none`, the framing of an upload that the
    /// server has removed (`aws-chunked`), and a character set.
    package var contentCodings: [String] { listedCodings.filter { !Self.plainCodings.contains($0) } }

    /// All that `Content-Encoding` names, in lower case.
    package var listedCodings: [String] {
        (value(forHTTPHeaderField: "Content-Encoding") ?? "").lowercased().components(separatedBy: ",")
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    private static let plainCodings: Set = ["identity", "none", "aws-chunked", "utf-8", "utf8"]

    /// How many bytes the body is to have once it is decoded; nil if the headers do not say it.
    ///
    /// With `Transfer-Encoding: chunked`, a `Content-Length` is ignored (RFC 9112, 6.3).
    ///
    /// - Parameter isDecoded: Whether the transport removes a coding: the length is not that of what it delivers then.
    /// - Throws: ``DataSourceError/malformedResponse(_:reason:)`` for a length that is no number, or too
    ///   large for one: libcurl reads the digits that it begins with, or until the connection ends. Also for a
    ///   `Transfer-Encoding` that compresses: no request asks for one, and libcurl does not report a missing end.
    func announcedLength(
        for request: URLRequest, isDecoded: Bool
    ) throws(DataSourceError) -> Int64? {
        if request.httpMethod == "HEAD" || statusCode == 204 || statusCode == 304 { return nil }
        let encoding = value(forHTTPHeaderField: "Transfer-Encoding")?.lowercased() ?? ""
        if ["gzip", "deflate", "compress", "br", "zstd"].contains(where: { encoding.contains($0) }) {
            throw .malformedResponse(request.errorURL, reason: "a Transfer-Encoding of \(encoding)")
        }
        if encoding.contains("chunked") { return nil }
        guard let text = value(forHTTPHeaderField: "Content-Length"), !text.isEmpty else { return nil }
        // Equal lengths count as one (RFC 9110, 8.6).
        let lengths = text.components(separatedBy: ",").filter { !$0.isEmpty }
            .map { ContentRange.position($0.trimmingCharacters(in: .whitespaces)) }
        guard let length = lengths.first ?? nil, lengths.allSatisfy({ $0 == length }) else {
            throw .malformedResponse(request.errorURL, reason: "a Content-Length of \(text)")
        }
        return isDecoded ? nil : length
    }

    /// The part that this 206 is; nil for one with several ranges or a compressed one.
    ///
    /// - Throws: ``DataSourceError/malformedResponse(_:reason:)`` if it is not the part that was requested.
    func checkedPart(
        askedBy request: URLRequest, isDecoded: Bool
    ) throws(DataSourceError) -> ContentRange? {
        let url = request.errorURL
        guard request.value(forHTTPHeaderField: "Range") != nil else {
            throw .malformedResponse(url, reason: "a part (206) that was not asked for")
        }
        let type = value(forHTTPHeaderField: "Content-Type")?.lowercased() ?? ""
        if isDecoded || type.hasPrefix("multipart/byteranges") { return nil }
        let header = value(forHTTPHeaderField: "Content-Range")
        guard let part = header.flatMap({ ContentRange($0) }), let bytes = part.bytes else {
            let words = header.map { "the Content-Range \"\($0)\"" } ?? "a part (206) without Content-Range"
            throw .malformedResponse(url, reason: words)
        }
        guard let asked = request.requestedRange else { return part }
        guard bytes.lowerBound == asked.first, bytes.upperBound <= asked.last ?? .max else {
            throw .malformedResponse(url, reason: "a part that was not asked for")
        }
        return part
    }
}

extension HTTPURLResponse {
    /// The headers that say which bytes a resource has.
    var validators: [String] {
        ["ETag", "Last-Modified"].compactMap { value(forHTTPHeaderField: $0) }
    }

    /// Whether one of them is `validator`; false if that is nil.
    func hasValidator(_ validator: String?) -> Bool { validator.map { validators.contains($0) } ?? false }
}

/// Reads and writes dates in the format of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    static var formatter: DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter
    }

    /// Returns the time from `now` that a `Retry-After` header names, as a number of seconds or as a date.
    static func delay(_ text: String, from now: Date) -> Duration? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if let seconds = ContentRange.position(text) { return .seconds(seconds) }
        guard let date = formatter.date(from: text) else { return nil }
        return .seconds(max(0, date.timeIntervalSince(now).rounded(.up)))
    }
}

/// The part of a resource that a 206 or a 416 is about: the value of its `Content-Range`.
struct ContentRange: Equatable {
    /// The positions of the first and the last byte; nil in a 416.
    let bytes: ClosedRange<Int64>?
    /// The length of the whole resource; nil if the server does not know it.
    let total: Int64?

    var byteCount: Int64? { bytes.map { $0.upperBound - $0.lowerBound + 1 } }

    /// Reads `bytes 100-199/200`, `bytes 100-199/*` or `bytes */200`; nil for anything else, such as a range
    /// that contradicts itself.
    init?(_ text: String) {
        let words = text.components(separatedBy: " ").filter { !$0.isEmpty }
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].components(separatedBy: "/")
        guard halves.count == 2 else { return nil }
        total = Self.position(halves[1])
        bytes = RequestedRange(ends: halves[0]).flatMap { range in range.last.map { range.first...$0 } }
        let isValid =
            bytes.map { $0.upperBound < total ?? .max && (total != nil || halves[1] == "*") }
            ?? (total != nil && halves[0] == "*")
        guard isValid else { return nil }
    }

    /// A number without a sign, of up to 18 digits; nil for anything else.
    ///
    /// `Int64(text)` would compile a copy of the standard library's generic parser into each program.
    static func position(_ text: String) -> Int64? {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard 1...18 ~= text.utf8.count, text.utf8.allSatisfy({ digits ~= $0 }) else { return nil }
        return Int64(strtoll(text, nil, 10))
    }
}

/// The part of a resource that a request asks for: a `Range` header with one range that has a beginning.
///
/// Several ranges (`bytes=0-1,5-6`), and those counted from the end (`bytes=-5`), are not of this kind: they
/// are sent as they are, and a part file of theirs is not continued.
struct RequestedRange: Equatable {
    let first: Int64
    /// The position of the last byte; nil for the end of the resource.
    let last: Int64?

    /// The value of the `Range` header.
    var header: String { "bytes=\(first)-\(last.map { "\($0)" } ?? "")" }

    /// How many bytes a resource of `total` bytes has in this range; nil if that cannot be known.
    func byteCount(of total: Int64?) -> Int64? {
        [total, last.map { $0 + 1 }].compactMap { $0 }.min().map { max(0, $0 - first) }
    }
}

extension URLRequest {
    var requestedRange: RequestedRange? { value(forHTTPHeaderField: "Range").flatMap { RequestedRange($0) } }

    /// Returns this request for a part only, or for the whole if the resource has another validator.
    func asking(from first: Int64, to last: Int64?, if validator: String?) -> URLRequest {
        var request = self
        request.setValue(RequestedRange(first: first, last: last).header, forHTTPHeaderField: "Range")
        request.setValue(validator, forHTTPHeaderField: "If-Range")
        return request
    }
}

extension RequestedRange {
    init?(_ header: String) {
        let halves = header.components(separatedBy: "=")
        guard halves.count == 2, halves[0].lowercased() == "bytes" else { return nil }
        self.init(ends: halves[1])
    }

    /// Reads `100-199` or `100-`.
    init?(ends text: String) {
        let ends = text.components(separatedBy: "-")
        guard ends.count == 2, let first = ContentRange.position(ends[0]) else { return nil }
        let last = ContentRange.position(ends[1])
        guard ends[1].isEmpty || first <= last ?? -1 else { return nil }
        (self.first, self.last) = (first, last)
    }
}
