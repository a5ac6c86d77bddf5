/// A request that the server has read.
public struct Request: Sendable {
    /// The method, as sent: `GET`.
    public let method: String
    /// The target as sent, with its query: `/a/b?c=d`.
    public let target: String
    /// The headers in the order sent, names as sent.
    public let headers: [(name: String, value: String)]
    /// The body's beginning, at most ``recordedByteCount`` bytes of it.
    public internal(set) var body: [UInt8] = []
    /// How long the body was, whole.
    public internal(set) var bodyByteCount = 0
    /// Whether the whole body was the bytes of ``Pattern`` from its beginning, as a test that uploads much
    /// sends it.
    public internal(set) var bodyIsPattern = true

    /// How much of a body is kept.
    public static let recordedByteCount = 1 << 20

    /// The target without its query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The first header of that name, in whatever case it was sent.
    public subscript(header name: String) -> String? {
        let lowercased = name.lowercased()
        return headers.first { $0.name.lowercased() == lowercased }?.value
    }

    /// The text of the request line and the headers, as an echo gives it back.
    var head: String {
        headers.reduce(into: "\(method) \(target) HTTP/1.1\r\n") { $0 += "\($1.name): \($1.value)\r\n" }
    }
}
