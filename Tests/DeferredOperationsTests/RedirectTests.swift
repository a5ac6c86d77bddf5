import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RedirectTests {
    let fixture: TransferFixture

    init() throws { fixture = try TransferFixture() }

    @Test(
        "Locations are resolved against the address that redirects",
        arguments: [
            ("/a/b/start", "next", "/a/b/next"), ("/a/b/start", "../next?x=1", "/a/next?x=1"),
            ("/a/start", "/next", "/next"),
            ("/a/start?q", "?r", "/a/start?r"),
        ])
    func relative(_ from: String, _ location: String, _ expected: String) async throws {
        fixture.server.route(from.prefix { $0 != "?" }.description) { request in
            request.target == from ? .redirect(to: location) : .echo
        }
        fixture.server.route(expected.prefix { $0 != "?" }.description) { request in
            request.target == from ? .redirect(to: location) : .echo
        }
        let page = try await URLDataSource(fixture.url(from), options: .patient).request(on: fixture.queue)
            .value
        #expect(page.data.text.hasPrefix("GET \(expected) HTTP/1.1"))
        #expect(page.response.url == fixture.url(expected))
    }

    @Test(
        "A POST becomes a GET after 301, 302 and 303, and stays what it is after 307 and 308",
        arguments: [301, 302, 303, 307, 308])
    func post(_ status: Int) async throws {
        fixture.server.route("/target", .echo)
        let page = try await fixture.load(.redirect(to: "/target", status: status)) { request, _ in
            request.httpMethod = "POST"
            request.httpBody = Data("the body".utf8)
        }
        let isRepeated = status >= 307
        #expect(page.data.text.hasPrefix(isRepeated ? "POST /target" : "GET /target"))
        #expect(page.data.text.hasSuffix("the body") == isRepeated)
    }

    @Test("A file is uploaded again after 307")
    func uploadAgain() async throws {
        let file = fixture.file("upload")
        try Data(Pattern.bytes(300_000)).write(to: file)
        fixture.server.route("/target", .text("thanks"))
        _ = try await fixture.load(.redirect(to: "/target", status: 307)) { request, options in
            request.httpMethod = "PUT"
            options.uploadFile = file
        }
        #expect(fixture.server.requests.map(\.bodyByteCount) == [300_000, 300_000])
        #expect(fixture.server.requests.allSatisfy { $0.bodyIsPattern })
    }

    @Test("Credentials go to the same host and port only")
    func credentials() async throws {
        let other = try LoopbackServer()
        defer { other.stop() }
        other.route("/target", .echo)
        fixture.server.route("/target", .echo)
        for (target, isCarried) in [("/target", true), (other.url("/target"), false)] {
            let page = try await fixture.load(.redirect(to: target)) { request, _ in
                request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
                request.setValue("yes", forHTTPHeaderField: "X-Mine")
            }
            #expect(page.data.text.contains("secret") == isCarried)
            #expect(page.data.text.contains("X-Mine: yes"))
        }
    }

    @Test("The body of a redirect is not part of the answer, and a download is of the last one")
    func bodies() async throws {
        fixture.server.route("/target", .text("end"))
        fixture.server.route("/it", .redirect(to: "/target"))
        #expect(try await fixture.load(.redirect(to: "/target")).data.text == "end")
        #expect(try await fixture.download().value.byteCount == 3)
    }

    // MARK: Challenges

    @Test(
        "A challenge is answered by the hook; without one, or if it returns nil, 401 is a failure",
        arguments: [
            "Basic realm=\"x\"", "Bearer", "Digest realm=\"x\", nonce=\"y\"",
        ])
    func challenge(_ scheme: String) async throws {
        let guarded = Answer { exchange in
            if exchange.request[header: "Authorization"] == "Basic bWU6c2VjcmV0" {
                try exchange.sendHead(200, contentLength: 2)
                try exchange.send("in")
            } else {
                try exchange.sendHead(401, [("WWW-Authenticate", scheme)], contentLength: 3)
                try exchange.send("out")
            }
        }
        let failure = try await fixture.refusal(of: guarded)
        #expect(failure.code == 401 && failure.body.text == "out")

        let attempts = Observations<Int>()
        let page = try await fixture.load(guarded) {
            $1.onChallenge = { challenge in
                attempts.note(challenge.attempt)
                let password = challenge.attempt == 2 ? "secret" : "wrong"
                return .resolved(challenge.answered(user: "me", password: password))
            }
        }
        #expect(page.data.text == "in" && attempts.all == [1, 2])

        let refused = try await fixture.refusal(of: guarded) {
            $1.onChallenge = { .resolved($0.answered(user: "me", password: "wrong")) }
        }
        #expect(refused.code == 401)
    }

    @Test("A challenge may take its time, and cancelling cancels it")
    func pendingChallenge() async throws {
        fixture.server.route("/it", .status(401))
        let asked = Deferred<Void>()
        let cancelled = Deferred<Void>()
        let (answer, resolver) = Deferred<URLRequest?>.withResolver(canceller: { _ in cancelled.resolve() })
        defer { withExtendedLifetime(resolver) {} }
        var options = TransferOptions.patient
        options.onChallenge = { _ in
            asked.resolve()
            return answer
        }
        let request = URLDataSource(fixture.url("/it"), options: options).request(on: fixture.queue)
        try await asked.value
        request.cancel()
        try await cancelled.value
        await #expect(throws: CancellationError.self) { try await request.value }
    }

    @Test(
        "A1: an answer that nothing can complete any more is the failure, however it was made",
        arguments: [302, 401], ["completable", "resolver"])
    func abandonedAnswer(_ status: Int, _ way: String) async throws {
        @Sendable func answer<Answer: Sendable>() -> Deferred<Answer> {
            way == "completable" ? Deferred<Answer>() : Deferred { (_: Resolver<Answer>) in }
        }
        let error = await fixture.failure(
            of: status == 401 ? .status(401) : .redirect(to: "/target", status: status)
        ) { _, options in
            options.onRedirect = { _ in answer() }
            options.onChallenge = { _ in answer() }
        }
        #expect(error as? DeferredError == .abandoned)
    }

    @Test("C3: an answer that has other consumers is not cancelled with the transfer")
    func sharedAnswer() async throws {
        fixture.server.route("/it", .status(401))
        let asked = Deferred<Void>()
        let (answer, resolver) = Deferred<URLRequest?>.withResolver()
        let other = answer.map { $0 == nil }
        var options = TransferOptions.patient
        options.onChallenge = { _ in
            asked.resolve()
            return answer
        }
        let request = URLDataSource(fixture.url("/it"), options: options).request(on: fixture.queue)
        try await asked.value
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
        resolver.resolve(nil)
        #expect(try await other.value)
    }

    @Test(
        "A challenge that is answered with what is not http is an error that says so",
        arguments: [("ftp://x", "ftp is neither http nor https"), ("http:///y", "the URL has no host")])
    func invalidAnswer(_ address: String, _ reason: String) async throws {
        await expectFailure("invalidRequest", "\(address): \(reason)") {
            throw await fixture.failure(of: .status(401)) {
                $1.onChallenge = { _ in .resolved(URLRequest(url: URL(string: address)!)) }
            }
        }
        #expect(fixture.server.requests.count == 1)
    }
}
