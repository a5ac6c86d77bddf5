import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

/// Each fault ends in an error of its own.
@Suite(.timeLimit(.minutes(5)))
struct HostileNetworkTests {
    let fixture = TransferFixture()

    /// The name of the case, and the rest in words, which begin with the address.
    private func expect(
        _ answer: Answer, _ name: String, _ words: String = "",
        _ change: (inout URLRequest, inout TransferOptions) -> Void = { _, _ in },
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) async {
        let error = await fixture.failure(of: answer, change)
        await expectFailure(name, words, { throw error }, sourceLocation: sourceLocation)
        let address = fixture.url("/").absoluteString.dropLast()
        #expect("\(error)".hasPrefix(address), "\(error)", sourceLocation: sourceLocation)
    }

    @Test("O4: a refused connection")
    func refused() async throws {
        // No server listens there: it is the port of a service that has been out of use for decades.
        let url = URL(string: "http://127.0.0.1:1/")!
        await expectFailure("cannotConnect", "http://127.0.0.1:1/: ") {
            try await URLDataSource(url, options: .patient).request(on: fixture.queue).value
        }
    }

    /// Answers, and the name of the error that each ends in, with words of its text.
    private static let faults: [(answer: Answer, name: String, words: String)] = [
        (
            .bytes([1], status: 206, headers: [("Content-Range", "bytes 0-0/100")]), "malformedResponse",
            "a part (206) that was not asked for"
        ),
        (.hungUp, "connectionLost", "closed without an answer"),
        (.reset, "connectionLost", "reset"),
        (.interim(100, then: .reset), "connectionLost", "reset"),
        (.interim(100, then: .hungUp), "connectionLost", "closed without an answer"),
        (.reset(after: 1000, of: 100_000), "connectionLost", "reset"),
        (.truncated(after: 10, of: 100), "truncated", "10 of 100 bytes"),
        (.truncated(after: 0, of: 100), "truncated", "0 of 100 bytes"),
        (.truncatedChunk, "truncated", "in the middle of the body"),
        (.malformed, "malformedResponse", ""),
        (.malformedStatus, "malformedResponse", ""),
        (raw("HTTP/1.1 200 OK\r\nthis is no header\r\n\r\n"), "malformedResponse", ""),
        // Header lines that end with a line feed alone are refused by Foundation.
        (raw("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"), "malformedResponse", ""),
        (raw("HTTP/1.1 200 OK\r\nContent-Length: some\r\n\r\n"), "malformedResponse", ""),
        (raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"), "malformedResponse", ""),
        // Headers without end, too many, or one too long.
        (.headerFlood(nil), "malformedResponse", ""),
        (.headerFlood(100_000), "malformedResponse", ""),
        (.longHeader(300_000), "malformedResponse", ""),
        (.badGzip, "malformedContent", ""),
        (.redirect(to: "file:///etc/passwd"), "invalidRedirect", "file:///etc/passwd"),
        (.redirect(to: "javascript:alert(1)"), "invalidRedirect", ""),
        (.redirect(to: "http://"), "invalidRedirect", ""),
        // Without a place to go, a redirect is a failure with its status.
        (.status(302), "status", "302"),
        (.status(300, headers: [("Location", "/else")]), "status", "300"),
    ]

    @Test("O4: each fault of a server is an error of its own", arguments: HostileNetworkTests.faults.indices)
    func fault(_ number: Int) async {
        let (answer, name, words) = Self.faults[number]
        await expect(answer, name, words)
    }

    @Test("A thousand headers are not too many")
    func manyHeaders() async throws {
        #expect(try await fixture.load(.headerFlood(1000)).data.text == "ok")
    }

    private static func raw(_ text: String) -> Answer {
        Answer { exchange in
            try exchange.send(text)
            try exchange.hangUp()
        }
    }

    @Test("O4: a body larger than the limit, announced, unannounced or without end; the rest is not read")
    func tooLarge() async {
        for answer in [Answer.pattern(1001), .chunked([Pattern.bytes(1001)]), .endless] {
            await expect(answer, "tooLarge", "1000 bytes") { $1.maximumByteCount = 1000 }
            await fixture.server.waitUntilIdle()
        }
        #expect(try! await fixture.load(.pattern(1000)) { $1.maximumByteCount = 1000 }.data.count == 1000)
    }

    @Test("O4: an error's body without end is read as far as it is wanted")
    func endlessError() async throws {
        let endless = Answer { exchange in
            try exchange.sendHead(500)
            while true { try exchange.sendPattern(0..<10_000) }
        }
        let failure = try await fixture.refusal(of: endless)
        #expect(failure.code == 500 && failure.body == Data(Pattern.bytes(4096)))
        await fixture.server.waitUntilIdle()
    }

    @Test("O4: a redirect loop")
    func redirects() async {
        await expect(.redirect(to: "/it"), "tooManyRedirects", "more than 20 times")
        #expect(fixture.server.requests.count == 21)
        await expect(.redirect(to: "/it"), "tooManyRedirects", "more than 0 times") {
            $1.maximumRedirectCount = 0
        }
    }

    @Test("A connection that the server closes or keeps open after each answer is replaced or used again")
    func connections() async throws {
        for _ in 0..<20 {
            #expect(try await fixture.load(.text("x").closingConnection).data.text == "x")
        }
        #expect(fixture.server.acceptedConnections == 20)
        for _ in 0..<20 { #expect(try await fixture.load(.text("x")).data.text == "x") }
        #expect(fixture.server.acceptedConnections < 40)
    }

    @Test("O4: what cannot be asked for at all is said before anyone is asked")
    func invalidRequests() async {
        for text in [
            "ftp://127.0.0.1/x", "mailto:me@example.org", "/just/a/path", "http:///nothing", "data:,hello",
        ] {
            await expectFailure("invalidRequest") {
                try await URLDataSource(URL(string: text)!).request(on: fixture.queue).value
            }
        }
        await expect(.text("x"), "invalidRequest", "a GET has no body") { request, _ in
            request.httpBody = Data([1])
        }
        await expect(.text("x"), "invalidRequest", "a timeout of 0 s") { $1.silenceTimeout = .zero }
        await expect(.text("x"), "invalidRequest", "a timeout of -1 s") { $1.totalTimeout = .seconds(-1) }
        await expect(.text("x"), "invalidRequest", "cannot be read") { request, options in
            request.httpMethod = "PUT"
            options.uploadFile = fixture.file("nothing")
        }
        #expect(fixture.server.requests.isEmpty)
    }

    // MARK: Time

    @Test("O4: a server that says nothing, or stops in the body, is given up after the silence allowed")
    func stalled() async {
        for answer in [Answer.stalled, .stalled(after: 100, of: 200), .interim(100, then: .stalled)] {
            let clock = ManualClock()
            fixture.server.route("/it", answer)
            let options = TransferOptions(silenceTimeout: .seconds(8), timer: clock)
            let request = URLDataSource(fixture.url("/it"), options: options).request(on: fixture.queue)
            await fixture.server.waitForRequests(underWay: 1)
            clock.advance(by: .seconds(7))
            #expect(request.currentResult == nil)
            // Late bytes count, and restart the silence: it may take any time.
            while request.currentResult == nil {
                clock.advance(by: .seconds(1))
                await Task.yield()
            }
            await expectFailure("timedOut", "nothing heard for 8 s") { try await request.value }
            await fixture.server.waitUntilIdle()
        }
    }
}
