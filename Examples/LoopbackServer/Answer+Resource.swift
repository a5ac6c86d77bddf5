/// A resource that supports ranges and conditional requests.
extension Answer {
    /// Sends a resource of so many bytes of ``Pattern`` with validators. Supports `Range` (one, `bytes=n-` or
    /// `bytes=n-m`), `If-Range`, `If-None-Match` and `If-Modified-Since`.
    ///
    /// Dates are compared as text, which suffices for a client that sends back the date that it received.
    ///
    /// - Parameters:
    ///   - breakingOffAfter: Send only so many bytes and close, as a connection that breaks does.
    public static func resource(
        _ byteCount: Int, etag: String? = nil, lastModified: String? = nil, breakingOffAfter limit: Int? = nil
    ) -> Answer {
        Answer { exchange in
            let request = exchange.request
            var headers = [("Accept-Ranges", "bytes")]
            if let etag { headers.append(("ETag", etag)) }
            if let lastModified { headers.append(("Last-Modified", lastModified)) }

            let isKnown =
                request[header: "If-None-Match"].map { $0 == etag || $0 == "*" }
                ?? request[header: "If-Modified-Since"].map { $0 == lastModified } ?? false
            if isKnown { return try exchange.sendHead(304, headers) }

            var range = 0..<byteCount
            var status = 200
            let mayBePart = request[header: "If-Range"].map { $0 == etag || $0 == lastModified } ?? true
            if mayBePart, let asked = request[header: "Range"] {
                guard let part = parsedRange(asked, of: byteCount) else {
                    return try exchange.sendHead(
                        416, headers + [("Content-Range", "bytes */\(byteCount)")], contentLength: 0)
                }
                range = part
                status = 206
                headers.append(
                    ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(byteCount)"))
            }
            try exchange.sendHead(status, headers, contentLength: range.count)
            guard request.method != "HEAD" else { return }
            guard let limit, limit < range.count else { return try exchange.sendPattern(range) }
            try exchange.sendPattern(range.lowerBound..<range.lowerBound + limit)
            try exchange.hangUp()
        }
    }

    private static func parsedRange(_ text: String, of byteCount: Int) -> Range<Int>? {
        guard text.hasPrefix("bytes=") else { return nil }
        let ends = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]), (0..<byteCount).contains(first) else { return nil }
        guard !ends[1].isEmpty else { return first..<byteCount }
        guard let last = Int(ends[1]), last >= first else { return nil }
        return first..<min(last + 1, byteCount)
    }
}
