import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request's body that is a stream, and has to be sent more than once.
@Suite(.timeLimit(.minutes(5)))
struct BodyStreamTests {
    let fixture: TransferFixture

    init() throws { fixture = try TransferFixture() }

    private static let body = Data(Pattern.bytes(300_000))

    private let challenged = Answer { exchange in
        guard exchange.request[header: "Authorization"] != nil else {
            try exchange.sendHead(401, [("WWW-Authenticate", "Bearer")], contentLength: 0)
            return
        }
        try exchange.sendHead(200, contentLength: 2)
        try exchange.send("in")
    }

    @Test(
        "A body stream that would be sent again is an error, not an empty body", arguments: [307, 308, 401])
    func readOnce(_ status: Int) async throws {
        fixture.server.route("/target", .text("thanks"))
        let answer = status == 401 ? challenged : .redirect(to: "/target", status: status)
        let error = await fixture.failure(of: answer) { request, options in
            request.httpMethod = "PUT"
            request.httpBodyStream = InputStream(data: Self.body)
            options.onChallenge = { .resolved($0.answered(authorization: "Bearer x")) }
        }
        #expect("\(error)".contains("stream"))
        #expect(fixture.server.requests.map(\.bodyByteCount) == [300_000])
    }

    @Test("A body stream is not needed again if a redirect changes the request into a GET")
    func notNeededAgain() async throws {
        fixture.server.route("/target", .text("fine"))
        let page = try await fixture.load(.redirect(to: "/target", status: 303)) { request, _ in
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: Self.body)
        }
        #expect(page.data.text == "fine")
        #expect(fixture.server.requests.map(\.bodyByteCount) == [300_000, 0])
    }

    @Test(
        "A closure that makes the body stream is called for each request that is sent",
        arguments: [307, 308, 401])
    func made(_ status: Int) async throws {
        fixture.server.route("/target", .text("in"))
        let answer = status == 401 ? challenged : .redirect(to: "/target", status: status)
        let made = Observations<Void>()
        let page = try await fixture.load(answer) { request, options in
            request.httpMethod = "PUT"
            options.makeBodyStream = {
                made.note(())
                return InputStream(data: Self.body)
            }
            options.onChallenge = { .resolved($0.answered(authorization: "Bearer x")) }
        }
        #expect(page.data.text == "in" && made.all.count == 2)
        #expect(fixture.server.requests.map(\.bodyByteCount) == [300_000, 300_000])
        #expect(fixture.server.requests.allSatisfy { $0.bodyIsPattern })
    }

    @Test("What the closure that makes the body stream throws is the failure")
    func notMade() async throws {
        struct Mine: Error {}
        let error = await fixture.failure(of: .text("x")) { request, options in
            request.httpMethod = "PUT"
            options.makeBodyStream = { throw Mine() }
        }
        #expect(error is Mine && fixture.server.requests.isEmpty)
        let two = await fixture.failure(of: .text("x")) { request, options in
            request.httpMethod = "PUT"
            request.httpBody = Data([1])
            options.makeBodyStream = { InputStream(data: Self.body) }
        }
        #expect("\(two)".hasSuffix("more than one body"))
    }
}
