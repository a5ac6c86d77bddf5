public import AsyncHTTPClient
public import DeferredOperations
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Sends the requests of a `TransferSession` by an `HTTPClient`: on Linux a transfer then takes no processor time while it
/// waits, can be paused, and stops the process in none of the cases in which Foundation's does.
///
/// ```swift
/// let client = HTTPClient(configuration: AsyncHTTPClientTransport.configuration)
/// let session = TransferSession(transport: AsyncHTTPClientTransport(client))
/// ```
///
/// A client unpacks all bodies or none, so that transfers with `storesAsSent` take a client of their own, `asSent`. Both
/// may have one event loop group, and make no connection before they are used.
///
/// The clients stay yours: shut them down when nothing uses them any more.
public struct AsyncHTTPClientTransport: Transport {
    private let client: HTTPClient
    private let clientAsSent: HTTPClient?

    /// Creates a transport that sends by `client`, which has the configuration below, or one made from it.
    ///
    /// - Parameter clientAsSent: Sends the requests whose body is stored as it was sent: with `configurationAsSent`. If it
    ///   is nil, such a transfer fails when the answer is compressed.
    public init(_ client: HTTPClient, asSent clientAsSent: HTTPClient? = nil) {
        (self.client, self.clientAsSent) = (client, clientAsSent)
    }

    /// What the library decides is turned off: redirects, time limits, second attempts. The body of an answer is unpacked.
    public static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: .hours(24)),
            decompression: .enabled(limit: .none))
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// The same, but the body of an answer is left as it was sent.
    public static var configurationAsSent: HTTPClient.Configuration {
        var configuration = configuration
        configuration.decompression = .disabled
        return configuration
    }

    /// Whether there is a client that leaves bodies as they were sent.
    public var canDeliverAsSent: Bool { clientAsSent != nil }

    /// True: the client stops reading while the future of a piece is not completed.
    public var canPause: Bool { true }

    /// Sends a request, and reports its answer from a queue of its own.
    public func send(_ request: URLRequest, _ body: TransportBody, for exchange: TransportExchange)
        -> any TransportTask
    {
        let answer = AnswerDelegate(request.url!, exchange)
        let client = exchange.wantsBodyAsSent ? clientAsSent ?? client : client
        do {
            let request = try HTTPClient.Request(
                url: request.url!.absoluteString, method: HTTPMethod(rawValue: request.httpMethod ?? "GET"),
                headers: HTTPHeaders((request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }),
                body: body.forClient)
            let eventLoop = body.eventLoop(of: client)
            answer.isSent(as: client.execute(request: request, delegate: answer, eventLoop: eventLoop))
        } catch {
            answer.end(error)
        }
        return answer
    }
}

/// Reports what the client receives, on a queue of its own: an event loop must not wait until a piece has been written.
///
/// While little waits in that queue, the client reads on: if the connection is lost, it drops the pieces that it has kept
/// back, and a download could not be resumed behind them. Otherwise the future of a piece is completed when that has been
/// taken, and the transfer is not paused.
private final class AnswerDelegate: HTTPClientResponseDelegate, TransportTask {
    private struct State {
        var exchange: TransportExchange?
        var task: HTTPClient.Task<Void>?
        var isCancelled = false
        var isPaused = false
        /// What the client waits for while the transfer is paused, or too much waits in the queue.
        var held: EventLoopPromise<Void>?
        var waitingByteCount = 0
        var readsOn: Bool { isCancelled || !isPaused && waitingByteCount < 1 << 18 }
        var sentByteCount: Int64 = 0
    }

    private let url: URL
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "AsyncHTTPClientTransport")

    init(_ url: URL, _ exchange: TransportExchange) {
        self.url = url
        state = Mutex(State(exchange: exchange))
    }

    func isSent(as task: HTTPClient.Task<Void>) {
        let isCancelled = state.withLock {
            $0.task = task
            return $0.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    // MARK: TransportTask

    func pause() { state.withLock { $0.isPaused = true } }

    func resume() {
        state.withLock { $0.isPaused = false }
        readOn()
    }

    func cancel() {
        let (task, held, exchange) = state.withLock {
            $0.isCancelled = true
            return ($0.task.take(), $0.held.take(), $0.exchange.take())
        }
        task?.cancel()
        held?.succeed()
        withExtendedLifetime(exchange) {}
    }

    // MARK: HTTPClientResponseDelegate

    func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) {
        let count = state.withLock {
            $0.sentByteCount += Int64(part.readableBytes)
            return $0.sentByteCount
        }
        report(.sent(count))
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let headers = Dictionary(head.headers.map { ($0.name, $0.value) }) { "\($0), \($1)" }
        let response = HTTPURLResponse(
            url: url, statusCode: Int(head.status.code),
            httpVersion: "HTTP/\(head.version.major).\(head.version.minor)", headerFields: headers)!
        report(.head(response))
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let byteCount = buffer.readableBytes
        let promise = task.eventLoop.makePromise(of: Void.self)
        let readsOn = state.withLock {
            $0.waitingByteCount += byteCount
            if !$0.readsOn { $0.held = promise }
            return $0.readsOn
        }
        if readsOn { promise.succeed() }
        report(.bytes(Data(buffer.readableBytesView)))
        queue.async {
            self.state.withLock { $0.waitingByteCount -= byteCount }
            self.readOn()
        }
        return promise.futureResult
    }

    private func readOn() {
        state.withLock { $0.readsOn ? $0.held.take() : nil }?.succeed()
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) { end(nil) }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) { end(error) }

    func end(_ error: (any Error)?) {
        queue.async {
            let exchange = self.state.withLock {
                $0.task = nil
                return $0.exchange.take()
            }
            exchange?.receive(.end(error.map(translated)))
        }
    }

    private func report(_ event: TransportEvent) {
        queue.async { self.state.withLock { $0.exchange }?.receive(event) }
    }
}

extension TransportBody {
    /// Where a request is sent. A stream is sent, and reported to have been sent, on one event loop. On two, the client
    /// gives a connection back after it was closed, and so ends the process (Documentation/Upstream.md). The connection of
    /// such a request may not be used again.
    fileprivate func eventLoop(of client: HTTPClient) -> HTTPClient.EventLoopPreference {
        if case .stream = self { .delegateAndChannel(on: client.eventLoopGroup.next()) } else { .indifferent }
    }

    /// The body as the client sends it; a stream is read on a queue of its own, one piece after another.
    fileprivate var forClient: HTTPClient.Body? {
        switch self {
        case .none: return nil
        case .data(let data): return .bytes(data)
        case .stream(let stream, let byteCount):
            let reader = StreamReader(stream)
            return .stream(contentLength: byteCount) { writer in
                writer.write(.byteBuffer(ByteBuffer())).flatMapWithEventLoop { _, eventLoop in
                    let promise = eventLoop.makePromise(of: Void.self)
                    reader.sendRest(to: writer, promise)
                    return promise.futureResult
                }
            }
        }
    }
}

/// Sound as `@unchecked Sendable`: the stream is read on one queue.
private final class StreamReader: @unchecked Sendable {
    private let stream: InputStream
    private let queue = DispatchQueue(label: "AsyncHTTPClientTransport.body")
    private var buffer = [UInt8](repeating: 0, count: 65536)

    init(_ stream: InputStream) { self.stream = stream }

    func sendRest(to writer: HTTPClient.Body.StreamWriter, _ promise: EventLoopPromise<Void>) {
        queue.async { [self] in
            if stream.streamStatus == .notOpen { stream.open() }
            let count = stream.read(&buffer, maxLength: buffer.count)
            if count == 0 { return promise.succeed() }
            // A request whose stream fails is not ended in order.
            if count < 0 { return promise.fail(stream.streamError ?? URLError(.requestBodyStreamExhausted)) }
            writer.write(.byteBuffer(ByteBuffer(bytes: buffer[..<count]))).whenComplete { result in
                switch result {
                case .success: self.sendRest(to: writer, promise)
                case .failure(let error): promise.fail(error)
                }
            }
        }
    }
}

/// The error by which the library knows what happened.
private func translated(_ error: any Error) -> any Error {
    let code: URLError.Code? =
        switch error {
        case let error as HTTPClientError: code(of: error)
        case let error as NIOConnectionError:
            error.connectionErrors.isEmpty ? .cannotFindHost : .cannotConnectToHost
        case HTTPParserError.invalidEOFState: .networkConnectionLost
        case is HTTPParserError: .badServerResponse
        case is ChannelError, is IOError: .networkConnectionLost
        default: nil
        }
    return code.map { URLError($0, userInfo: [NSLocalizedDescriptionKey: "\(error)"]) } ?? error
}

private func code(of error: HTTPClientError) -> URLError.Code? {
    switch error {
    case .remoteConnectionClosed, .requestStreamCancelled: .networkConnectionLost
    case .connectTimeout: .timedOut
    case .invalidURL, .emptyHost: .badURL
    case .tlsHandshakeTimeout: .secureConnectionFailed
    default: nil
    }
}
