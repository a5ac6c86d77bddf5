public import Deferred
public import Foundation

/// Answers requests without a network, by a closure or a script: for tests of what uses data sources.
///
/// ```swift
/// let stub = StubTransport { request in
///     request.urlRequest.url?.path == "/me" ? .answer(json: "{\"name\": \"Ada\"}") : .answer(404)
/// }
/// let session = TransferSession(transport: stub)
/// let user = JSONDataSource<User>(url, session: session).request(on: queue)
/// ```
///
/// It has no sockets and no threads: what it reports, it reports within the calls that the session makes, or where a
/// gate opens or a timer expires. So a test decides when each thing happens:
///
/// ```swift
/// let gate = Deferred<Void>()
/// let stub = StubTransport(script: [.answer(503), .answer(body: half).then(.wait(gate), .bytes(rest), .end)])
/// // … look at what has arrived, and then:
/// gate.resolve()
/// ```
///
/// With `timer:`, a `ManualClock` of the module `DeferredTesting`, `.delay` takes virtual time.
public final class StubTransport: Transport {
    /// A request as it was sent.
    public struct Request: Sendable {
        /// Address, method and headers.
        public let urlRequest: URLRequest
        /// The whole body; empty without one.
        public let body: Data
        /// The length that was known before it was read: 0 without a body, nil for a stream of unknown length.
        public let announcedByteCount: Int64?

        /// Returns the value of a header, whose name is compared without regard to case.
        public subscript(header name: String) -> String? { urlRequest.value(forHTTPHeaderField: name) }
    }

    /// Whether a request can be paused.
    public let canPause: Bool
    /// True: a body is what the answer says, also if a header says that it is compressed.
    public let canDeliverAsSent = true
    private let timer: any DelayedDispatcher
    private let answer: @Sendable (Request) throws -> Answer
    private let sent = Locked<(requests: [Request], inProgress: Int)>(([], 0))

    /// Creates a transport that answers by a closure.
    ///
    /// - Parameters:
    ///   - canPause: Whether a request can be paused. If not, the rest of a body is requested after a pause.
    ///   - timer: Measures the time of `.delay`.
    ///   - answer: Called with each request, on a queue of the session's, one at a time for a session. What it throws
    ///     ends the exchange.
    public init(
        canPause: Bool = true, timer: any DelayedDispatcher = DispatchQueue.global(),
        _ answer: @escaping @Sendable (Request) throws -> Answer
    ) {
        (self.canPause, self.timer, self.answer) = (
            canPause, timer, DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(answer) : answer
        )
    }

    /// Creates a transport that answers the first request with the first of `script`, and so on. The last one is
    /// repeated.
    ///
    /// - Parameters:
    ///   - canPause: As for the other initializer.
    ///   - timer: As for the other initializer.
    public convenience init(
        canPause: Bool = true, timer: any DelayedDispatcher = DispatchQueue.global(), script: [Answer]
    ) {
        let next = Locked(0)
        self.init(canPause: canPause, timer: timer) { _ in
            let index = next.withLock { next in
                defer { next += 1 }
                return next
            }
            return script.isEmpty ? .silent : script[min(index, script.count - 1)]
        }
    }

    /// The requests so far, oldest first.
    public var requests: [Request] { sent.withLock { $0.requests } }

    /// How many requests have neither ended nor been cancelled.
    public var inProgressCount: Int { sent.withLock { $0.inProgress } }

    /// Reads the body, and begins the answer.
    public func send(
        _ request: URLRequest, _ body: TransportBody, for exchange: TransportExchange
    ) -> any TransportTask {
        let data: Data?
        switch body {
        case .none: data = Data()
        case .data(let bytes): data = bytes
        case .stream(let stream, _): data = stream.readAll()
        }
        sent.withLock { $0.inProgress += 1 }
        let task = StubTask(exchange, request.url ?? .unnamed, timer) { [self] in
            sent.withLock { $0.inProgress -= 1 }
        }
        guard let data else {
            task.play([
                .fail(URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: "the body cannot be read"]))
            ])
            return task
        }
        let received = Request(urlRequest: request, body: data, announcedByteCount: body.byteCount)
        sent.withLock { $0.requests.append(received) }
        do {
            task.play(try answer(received).steps(for: request))
        } catch {
            task.play([.fail(error)])
        }
        return task
    }
}

extension InputStream {
    /// Reads to the end; nil if that fails.
    fileprivate func readAll() -> Data? {
        open()
        defer { close() }
        var (data, buffer) = (Data(), [UInt8](repeating: 0, count: 1 << 16))
        while true {
            let count = read(&buffer, maxLength: buffer.count)
            if count < 0 || streamStatus == .error { return nil }
            if count == 0 { return data }
            data.append(contentsOf: buffer[..<count])
        }
    }
}
