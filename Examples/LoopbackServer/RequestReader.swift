/// Reads the requests of a connection, one after another.
struct RequestReader {
    let socket: Socket
    private var buffer: [UInt8] = []
    private var chunk = [UInt8](repeating: 0, count: 1 << 16)

    private static let headLimit = 1 << 20

    init(_ socket: Socket) {
        self.socket = socket
    }

    /// Returns the next request, or nil if the connection has ended or does not contain HTTP.
    ///
    /// - Parameter limit: How much of the request's body is read; nil for all of it.
    mutating func next(readingOnly limit: (Request) -> Int? = { _ in nil }) -> Request? {
        guard let head = readHead() else { return nil }
        let lines = String(decoding: head, as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: true)
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return nil }
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), line[line.index(after: colon)...].trimmed)
        }
        var request = Request(method: String(words[0]), target: String(words[1]), headers: headers)
        if request[header: "Expect"]?.lowercased() == "100-continue" {
            let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            guard (try? interim.withUnsafeBytes(socket.send)) != nil else { return nil }
        }
        if let limit = limit(request) {
            if limit > 0, !take(limit, into: &request) { return nil }
            return request
        }
        guard readBody(of: &request) else { return nil }
        return request
    }

    /// Returns the bytes up to the empty line, and consumes both.
    private mutating func readHead() -> [UInt8]? {
        var searched = 0
        while true {
            if let end = buffer[searched...].firstRange(of: [13, 10, 13, 10]) {
                let head = Array(buffer[..<end.lowerBound])
                buffer.removeSubrange(..<end.upperBound)
                return head
            }
            searched = max(0, buffer.count - 3)
            guard buffer.count < Self.headLimit, readMore() else { return nil }
        }
    }

    private mutating func readBody(of request: inout Request) -> Bool {
        if request[header: "Transfer-Encoding"]?.lowercased() == "chunked" {
            while let line = readLine() {
                guard let size = Int(line.prefix { $0 != ";" }.trimmed, radix: 16), size >= 0 else {
                    return false
                }
                guard size > 0 else { return readLine() != nil }
                guard take(size, into: &request), readLine() != nil else { return false }
            }
            return false
        }
        guard let announced = request[header: "Content-Length"] else { return true }
        guard let size = Int(announced), size >= 0 else { return false }
        return take(size, into: &request)
    }

    private mutating func take(_ count: Int, into request: inout Request) -> Bool {
        var left = count
        while left > 0 {
            if buffer.isEmpty, !readMore() { return false }
            let taken = buffer.prefix(left)
            let room = max(0, Request.recordedByteCount - request.body.count)
            if request.bodyIsPattern {
                request.bodyIsPattern = Pattern.matches(taken, at: request.bodyByteCount)
            }
            request.body += taken.prefix(room)
            request.bodyByteCount += taken.count
            left -= taken.count
            buffer.removeFirst(taken.count)
        }
        return true
    }

    private mutating func readLine() -> String? {
        while true {
            if let end = buffer.firstRange(of: [13, 10]) {
                let line = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
                buffer.removeSubrange(..<end.upperBound)
                return line
            }
            guard buffer.count < Self.headLimit, readMore() else { return nil }
        }
    }

    private mutating func readMore() -> Bool {
        guard let count = chunk.withUnsafeMutableBytes(socket.receive) else { return false }
        buffer += chunk[..<count]
        return true
    }
}

extension StringProtocol {
    /// This text without spaces and tabs at its ends.
    var trimmed: String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(self[first...last])
    }
}
