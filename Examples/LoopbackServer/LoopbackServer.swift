#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A small HTTP/1.1 server on the loopback interface, in this process, for tests: it also sends answers that
/// no correct server sends.
///
/// ```swift
/// let server = try LoopbackServer()
/// server.route("/hello", .text("hello"))
/// server.route("/flaky", .status(503), .text("third time lucky"))   // one after another, the last for ever
/// // … fetch from server.url("/hello")
/// server.stop()
/// ```
///
/// Each connection has a thread, on which its answers run. A path without a route is answered with 404.
public final class LoopbackServer: Sendable {
    /// The error if the server could not be started.
    public struct StartError: Error, CustomStringConvertible {
        let call: String
        let code: CInt

        /// The system call that failed, and why.
        public var description: String {
            "cannot start a loopback server: \(call): \(String(cString: strerror(code)))"
        }
    }

    /// The address of the loopback interface to listen on.
    public enum Family: Sendable {
        /// 127.0.0.1
        case ipv4
        /// ::1, which not every machine has.
        case ipv6
    }

    /// The port that the system chose.
    public let port: UInt16
    private let family: Family

    private let routes: Routes
    private let traffic = Watched(Traffic())
    private let connections: Connections
    private let stopping = Gate()
    private let acceptor: Monitor<ServerThread?>

    /// Starts a server on a free port.
    ///
    /// - Parameters:
    ///   - family: The address to listen on.
    ///   - fallback: Answers the paths that have no route; runs on the connection's thread.
    public init(
        family: Family = .ipv4, fallback: @escaping @Sendable (Request) -> Answer = { _ in .status(404) }
    ) throws {
        let (listener, port) = try Socket.listening(family)
        let routes = Routes(fallback: fallback)
        let connections = Connections(traffic: traffic, routes: routes)
        let stopping = stopping
        self.port = port
        self.family = family
        self.routes = routes
        self.connections = connections
        let thread = ServerThread {
            while stopping.waitForConnection(on: listener) {
                if let connection = listener.accepted() { connections.serve(connection) }
            }
            listener.close()
        }
        guard let thread else {
            listener.close()
            throw StartError(call: "pthread_create", code: EAGAIN)
        }
        acceptor = Monitor(thread)
    }

    deinit {
        stop()
    }

    /// `http://127.0.0.1:port`, or `http://[::1]:port`, with the path after it.
    public func url(_ path: String = "/") -> String {
        "http://\(family == .ipv4 ? "127.0.0.1" : "[::1]"):\(port)\(path)"
    }

    /// Sets the answers to requests for `path` (the query is ignored): one after another, the last one
    /// repeatedly.
    public func route(_ path: String, _ answers: Answer...) {
        routes.set(path, answers)
    }

    /// Sets an answer that is sent after `byteCount` bytes of the request's body: the rest is not read, and the
    /// connection is closed. What is counted of a chunked body includes its framing.
    public func route(_ path: String, afterBytes byteCount: Int, _ answer: Answer) {
        routes.set(path, after: byteCount, answer)
    }

    /// Sets a closure that creates the answer to each request for `path`; it runs on the connection's thread.
    public func route(_ path: String, handler: @escaping @Sendable (Request) -> Answer) {
        routes.set(path, handler)
    }

    /// The requests read so far, oldest first.
    public var requests: [Request] { traffic.value.requests }

    /// The number of requests that have been read and are not fully answered.
    public var requestsUnderWay: Int { traffic.value.underWay }

    /// The highest number of requests in progress at one moment.
    public var mostRequestsUnderWay: Int { traffic.value.mostUnderWay }

    /// The number of open connections.
    public var openConnections: Int { traffic.value.openConnections }

    /// The number of connections so far, including closed ones.
    public var acceptedConnections: Int { traffic.value.acceptedConnections }

    /// Waits until so many requests have been read and are not fully answered.
    ///
    /// This and the methods below return early if the server stops or the task is cancelled.
    public func waitForRequests(underWay count: Int) async {
        await traffic.wait { $0.underWay >= count }
    }

    /// Waits until so many requests have been read, answered or not.
    public func waitForRequests(seen count: Int) async {
        await traffic.wait { $0.requests.count >= count }
    }

    /// Waits until no request is in progress.
    public func waitUntilIdle() async {
        await traffic.wait { $0.underWay == 0 }
    }

    /// Waits until no connection is open.
    public func waitUntilDisconnected() async {
        await traffic.wait { $0.openConnections == 0 }
    }

    /// Ends every connection, whatever its answer does, and waits for all threads. Stopping twice has no
    /// effect. Must not be called from an answer.
    public func stop() {
        let thread = acceptor.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let thread else { return }
        stopping.open()
        thread.join()
        connections.stop()
        traffic.end()
    }
}
