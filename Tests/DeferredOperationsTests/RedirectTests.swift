import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RedirectTests {
    let fixture = TransferFixture()

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

    @Test("C3: a cancel reaches a challenge's answer, unless that is shared", arguments: [false, true])
    func pendingChallenge(isShared: Bool) async throws {
        fixture.server.route("/it", .status(401))
        let (asked, cancelled) = (Deferred<Void>(), Observations<Void>())
        let (answer, resolver) = Deferred<URLRequest?>.withResolver(canceller: { _ in cancelled.note(()) })
        let other = isShared ? answer.map { $0 == nil } : nil
        var options = TransferOptions.patient
        options.onChallenge = { _ in
            asked.resolve()
            return answer
        }
        let request = URLDataSource(fixture.url("/it"), options: options).request(on: fixture.queue)
        try await asked.value
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
        if !isShared { await cancelled.wait(for: 1) }
        #expect(resolver.resolve(nil) == isShared)
        #expect(try await other?.value != false)
    }

    @Test("A1: an abandoned answer is the failure", arguments: [302, 401], ["completable", "resolver"])
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
}
