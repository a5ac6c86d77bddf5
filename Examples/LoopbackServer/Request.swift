/// A request that the server has read.
public struct Request: Sendable {
    /// The method, as sent: `GET`.
    public let method: String
    /// The target as sent, with its query: `/a/b?c=d`.
    public let target: String
    /// The headers in the order sent, names as sent.
    public let headers: [(name: String, value: String)]
    /// The beginning of the body, at most ``recordedByteCount`` bytes.
    public internal(set) var body: [UInt8] = []
    /// The length of the whole body.
    public internal(set) var bodyByteCount = 0
    /// Whether the whole body was the bytes of ``Pattern`` from its beginning, for tests that upload much.
    public internal(set) var bodyIsPattern = true

    /// The number of bytes of a body that are kept.
    public static let recordedByteCount = 1 << 20

    /// The target without its query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// Returns the first header with that name, in any case.
    public subscript(header name: String) -> String? {
        let lowercased = name.lowercased()
        return headers.first { $0.name.lowercased() == lowercased }?.value
    }

    /// The text of the request line and the headers, for an echo.
    var head: String {
        headers.reduce(into: "\(method) \(target) HTTP/1.1\r\n") { $0 += "\($1.name): \($1.value)\r\n" }
    }
}
