import Deferred
import DeferredOperations
import Foundation

#if canImport(LoopbackServer)
import LoopbackServer
#else
import FileServing
#endif

/// A transport, and what it asks: the same replies from a real server and from a stub.
struct Place: Sendable {
    /// A request, as each of the servers has seen it.
    struct Asked: Sendable {
        let line: String
        let body: Data
        let header: @Sendable (String) -> String?
        /// Where the range begins that it asks for.
        var first: Int? { header("Range").flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) } }
    }

    /// What is answered: a head, so much of a body as is sent, and how that ends.
    struct Reply: Sendable {
        enum End: Sendable { case whole, lost, silent }

        var status = 200
        var headers: [String: String] = [:]
        var body = Data()
        /// How many bytes of the body are sent; nil for all of them.
        var sent: Int?
        var end = End.whole
    }

    typealias Replying = @Sendable (Asked) -> Reply

    let session: TransferSession
    let queue: OperationQueue
    let file: URL
    let url: URL
    let serve: @Sendable (@escaping Replying) -> Void
    /// The requests so far.
    let asked: @Sendable () -> [Asked]

    /// A transport against a real server.
    static func server(_ session: TransferSession) -> Place {
        let fixture = TransferFixture(session: session)
        return Place(
            session: fixture.session, queue: fixture.queue, file: fixture.file(), url: fixture.url(),
            serve: { reply in
                for path in ["/it", "/next"] {
                    fixture.server.route(path) { request in answer(reply(Asked(request))) }
                }
            },
            asked: { fixture.server.requests.map { Asked($0) } })
    }

    static func stub(canPause: Bool) -> Place {
        let fixture = StubFixture(canPause: canPause)
        return Place(
            session: fixture.session, queue: fixture.queue, file: fixture.file(), url: fixture.url(),
            serve: { reply in
                for path in ["/it", "/next"] { fixture.server.route(path) { stubAnswer(reply(Asked($0))) } }
            },
            asked: { fixture.server.requests.map { Asked($0) } })
    }

    private static func answer(_ reply: Reply) -> Answer {
        Answer { exchange in
            let headers = reply.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            let hasBody = ![204, 304].contains(reply.status)
            try exchange.sendHead(reply.status, headers, contentLength: hasBody ? reply.body.count : nil)
            try exchange.send(Array(reply.body.prefix(reply.sent ?? .max)))
            switch reply.end {
            case .whole: break
            case .lost: try exchange.hangUp()
            case .silent: try exchange.stall()
            }
        }
    }

    private static func stubAnswer(_ reply: Reply) -> StubTransport.Answer {
        var headers = reply.headers
        if ![204, 304].contains(reply.status) { headers["Content-Length"] = "\(reply.body.count)" }
        let bytes = reply.body.prefix(reply.sent ?? .max)
        let half = bytes.count / 2
        let steps: [StubTransport.Step] = [
            .head(reply.status, headers), .bytes(bytes.prefix(half)), .bytes(bytes.dropFirst(half)),
        ]
        switch reply.end {
        case .whole: return .init(steps + [.end])
        case .lost: return .init(steps + [.fail(URLError(.networkConnectionLost))])
        case .silent: return .init(steps)
        }
    }
}

extension Place.Asked {
    fileprivate init(_ request: Request) {
        line = "\(request.method) \(request.path)"
        body = Data(request.body)
        header = { request[header: $0] }
    }

    fileprivate init(_ request: StubTransport.Request) {
        line = "\(request.urlRequest.httpMethod ?? "GET") \(request.path)"
        body = request.body
        header = { request[header: $0] }
    }
}
