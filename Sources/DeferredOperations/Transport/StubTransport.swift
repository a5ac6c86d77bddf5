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

    /// What happens after a request.
    public enum Step: Sendable {
        /// A status and headers.
        case head(Int, [String: String] = [:])
        /// A piece of the body.
        case bytes(Data)
        /// So many bytes of the request's body have been sent, in all.
        case sent(Int64)
        /// The exchange ends in order.
        case end
        /// The exchange ends with an error.
        case fail(any Error)
        /// Any event: also one that a correct transport does not report.
        case event(TransportEvent)
        /// Nothing happens until a Deferred is resolved; if it is rejected, the exchange ends with its error. A cancel
        /// of the request does not cancel it.
        case wait(Deferred<Void>)
        /// Nothing happens for so long, by the timer of the transport.
        case delay(Duration)
        /// Calls a closure with the exchange, which it may keep, to report events when it likes. It runs where the step
        /// before it was made.
        case call(@Sendable (TransportExchange) -> Void)
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

extension StubTransport {
    /// What is answered to a request: steps, one after another.
    public struct Answer: Sendable {
        private var steps: [Step]
        /// Whether the answer to a HEAD has no body.
        private var isProper = false

        /// Creates an answer of steps in any order. Without an `end`, the exchange stays open until it is cancelled.
        public init(_ steps: [Step]) { self.steps = steps }

        /// Answers with a status, headers, and a body whose length is announced, unless the headers have a
        /// `Transfer-Encoding` or a length.
        ///
        /// - Parameter pieces: How many pieces the body arrives in: 1 or more.
        public static func answer(
            _ status: Int = 200, headers: [String: String] = [:], body: Data = Data(), pieces: Int = 1
        ) -> Answer {
            var headers = headers
            let names = Set(headers.keys.map { $0.lowercased() })
            if ![204, 304].contains(status), names.isDisjoint(with: ["content-length", "transfer-encoding"]) {
                headers["Content-Length"] = "\(body.count)"
            }
            let size = max(1, (body.count + max(1, pieces) - 1) / max(1, pieces))
            var answer = Answer([.head(status, headers)])
            for start in stride(from: 0, to: body.count, by: size) {
                let end = min(start + size, body.count)
                answer.steps.append(.bytes(body[body.startIndex + start..<body.startIndex + end]))
            }
            answer.steps.append(.end)
            answer.isProper = true
            return answer
        }

        /// Answers with text.
        public static func answer(
            _ status: Int = 200, headers: [String: String] = [:], text: String
        ) -> Answer {
            answer(status, headers: headers, body: text.asUTF8)
        }

        /// Answers with a JSON document.
        public static func answer(_ status: Int = 200, json: String) -> Answer {
            answer(status, headers: ["Content-Type": "application/json"], text: json)
        }

        /// Answers with a redirect.
        public static func redirect(to location: String, status: Int = 302) -> Answer {
            answer(status, headers: ["Location": location])
        }

        /// Ends the exchange with an error, such as a `URLError`.
        public static func failure(_ error: any Error) -> Answer { Answer([.fail(error)]) }

        /// Never answers.
        public static var silent: Answer { Answer([]) }

        /// Answers so after a gate has been opened.
        public func after(_ gate: Deferred<Void>) -> Answer { preceded(by: .wait(gate)) }

        /// Answers so after some time, by the timer of the transport.
        public func after(_ delay: Duration) -> Answer { preceded(by: .delay(delay)) }

        /// Continues with other steps in place of the end.
        public func then(_ steps: Step...) -> Answer {
            var answer = self
            if case .end? = answer.steps.last { answer.steps.removeLast() }
            answer.steps += steps
            return answer
        }

        private func preceded(by step: Step) -> Answer {
            var answer = self
            answer.steps.insert(step, at: 0)
            return answer
        }

        fileprivate func steps(for request: URLRequest) -> [Step] {
            guard isProper, request.httpMethod == "HEAD" else { return steps }
            return steps.filter { if case .bytes = $0 { false } else { true } }
        }
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
