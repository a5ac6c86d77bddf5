/// One request and its answer, on the thread of its connection. An ``Answer`` writes to it.
///
/// An error that an answer throws ends the connection; answers that misbehave on purpose end that way.
///
/// The last few bytes are buffered until more follow, the answer waits, or the request has been counted as
/// answered. A client that has received its answer and sends the next request is therefore never counted as
/// having two requests in progress.
public final class Exchange {
    /// The client's request.
    public let request: Request
    private let socket: Socket
    private var heldBack: [UInt8] = []
    private static let heldBackLimit = 1 << 14

    /// Whether the connection may serve another request after the answer.
    public var keepsAlive: Bool

    private(set) var isReset = false

    init(request: Request, socket: Socket) {
        self.request = request
        self.socket = socket
        keepsAlive = request[header: "Connection"]?.lowercased() != "close"
    }

    /// Sends a status line and headers, with the length of the body that follows, if it is known.
    public func sendHead(_ status: Int, _ headers: [(String, String)] = [], contentLength: Int? = nil) throws
    {
        var head = "HTTP/1.1 \(status) \(Self.reason(of: status))\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let contentLength { head += "Content-Length: \(contentLength)\r\n" }
        if !keepsAlive { head += "Connection: close\r\n" }
        try send(head + "\r\n")
    }

    /// Sends bytes; waits until the client has read enough of them.
    public func send(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty else { return }
        try bytes.withUnsafeBytes { try send($0) }
    }

    private func send(_ bytes: UnsafeRawBufferPointer) throws {
        if heldBack.count + bytes.count > Self.heldBackLimit {
            try sendHeldBack()
            let end = bytes.suffix(Self.heldBackLimit / 4)
            try socket.send(UnsafeRawBufferPointer(rebasing: bytes.dropLast(end.count)))
            heldBack.append(contentsOf: end)
        } else {
            heldBack.append(contentsOf: bytes)
        }
    }

    /// Sends the buffered bytes.
    func sendHeldBack() throws {
        guard !heldBack.isEmpty else { return }
        try heldBack.withUnsafeBytes { try socket.send($0) }
        heldBack.removeAll(keepingCapacity: true)
    }

    /// Sends text as UTF-8.
    public func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// Sends the bytes of ``Pattern`` in `range`, in constant memory.
    public func sendPattern(_ range: Range<Int>) throws {
        try Pattern.forEachRun(in: range) { try send($0) }
    }

    /// Waits until the gate opens; throws if the client closes the connection or the server stops first.
    public func wait(for gate: Gate) throws {
        try sendHeldBack()
        guard case .opened = gate.wait(watching: socket) else { throw Socket.Ended() }
    }

    /// Waits for so long; throws if the client closes the connection or the server stops meanwhile. For the
    /// demo: a test uses gates.
    public func pause(milliseconds: Int) throws {
        try sendHeldBack()
        let never = Gate()
        guard case .timedOut = never.wait(watching: socket, milliseconds: CInt(clamping: milliseconds))
        else { throw Socket.Ended() }
    }

    /// Sends nothing until the client closes the connection or the server stops.
    public func stall() throws {
        try wait(for: Gate())
    }

    /// Closes the connection in order, after the bytes that were sent.
    public func hangUp() throws {
        throw Socket.Ended()
    }

    /// Resets the connection.
    public func reset() throws {
        try sendHeldBack()
        socket.resetWhenClosed()
        isReset = true
        throw Socket.Ended()
    }

    private static func reason(of status: Int) -> String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 304: "Not Modified"
        case 401: "Unauthorized"
        case 404: "Not Found"
        case 416: "Range Not Satisfiable"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status \(status)"
        }
    }
}
