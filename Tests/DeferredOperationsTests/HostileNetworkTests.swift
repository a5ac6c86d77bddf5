import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Each fault ends in an error of its own.
@Suite(.watchdog(atOnce: .few))
struct HostileNetworkTests {
    let fixture = TransferFixture()

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
        // A line that is a carriage return alone, of which Foundation makes a status of 200 without headers.
        (raw("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\r\nabc"), "malformedResponse", "without a head"),
        (raw("HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\r\nabc"), "malformedResponse", "without a head"),
        (raw("HTTP/1.1 302 No\r\nLocation: /\r\n\r\r\nabc"), "malformedResponse", "without a head"),
        (raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"), "malformedResponse", "of gzip"),
        // Headers without end, too many, or one too long.
        (.headerFlood(nil), "malformedResponse", ""),
        (.headerFlood(100_000), "malformedResponse", ""),
        (.longHeader(300_000), "malformedResponse", ""),
        (.badGzip, "malformedContent", ""),
        (.redirect(to: "file:///etc/passwd"), "invalidRedirect", "file:///etc/passwd"),
        (.redirect(to: "javascript:alert(1)"), "invalidRedirect", ""),
        (.redirect(to: "http://"), "invalidRedirect", ""),
        (.redirect(to: "/it"), "tooManyRedirects", "more than 20 times"),
        // Without a place to go, a redirect is a failure with its status.
        (.status(302), "status", "302"),
        (.status(300, headers: [("Location", "/else")]), "status", "300"),
    ]

    @Test("O4: each fault of a server is an error of its own", arguments: HostileNetworkTests.faults.indices)
    func fault(_ number: Int) async {
        let (answer, name, words) = Self.faults[number]
        let error = await fixture.failure(of: answer)
        await expectFailure(name, words) { throw error }
        // The address is first.
        #expect("\(error)".hasPrefix("http://127.0.0.1:\(fixture.server.port)"), "\(error)")
    }

    @Test("O4: a body on a kept connection that the server then closes is a lost connection, not a silence")
    func keptConnection() async throws {
        for change in [
            { request, _ in request.httpBody = Data("body".utf8) },
            { request, _ in request.httpBodyStream = InputStream(data: Data([1])) },
        ] as [TransferFixture.Change] {
            _ = try await fixture.load(.text("kept"))
            let error = await fixture.failure(of: .hungUp) { request, options in
                request.httpMethod = "POST"
                change(&request, &options)
            }
            await expectFailure("connectionLost", "closed without an answer") { throw error }
        }
    }

    @Test("A thousand headers are not too many, and none are not too few")
    func manyHeaders() async throws {
        #expect(try await fixture.load(Self.raw("HTTP/1.0 200 OK\r\n\r\nok")).data.text == "ok")
        #expect(try await fixture.load(.headerFlood(1000)).data.text == "ok")
    }

    private static func raw(_ text: String) -> Answer {
        Answer { exchange in
            try exchange.send(text)
            try exchange.hangUp()
        }
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

    @Test("A connection that the server closes or keeps open after each answer is replaced or used again")
    func connections() async throws {
        for _ in 0..<20 {
            #expect(try await fixture.load(.text("x").closingConnection).data.text == "x")
        }
        #expect(fixture.server.acceptedConnections == 20)
        for _ in 0..<20 { #expect(try await fixture.load(.text("x")).data.text == "x") }
        #expect(fixture.server.acceptedConnections < 40)
    }

    @Test(
        "O4: a refused connection, and what cannot be asked for at all, which is said before anyone is asked")
    func invalidRequests() async {
        // No server listens at the first: it is the port of a service that has been out of use for decades.
        for (address, name, words) in [
            ("http://127.0.0.1:1/", "cannotConnect", "http://127.0.0.1:1/"),
            ("mailto:me@example.org", "invalidRequest", "mailto:me@example.org: mailto is neither http nor"),
        ]
            + ["ftp://127.0.0.1/x", "/just/a/path", "http:///nothing", "data:,hello"]
            .map({ ($0, "invalidRequest", $0) })
        {
            await expectFailure(name, words) {
                try await URLDataSource(URL(string: address)!, options: .patient).request(on: fixture.queue)
                    .value
            }
        }
        for (words, change) in [
            ("a timeout of 0 s", { $1.silenceTimeout = .zero }),
            ("a timeout of -1 s", { $1.totalTimeout = .seconds(-1) }),
            ("ifModifiedSince has no year", { $1.ifModifiedSince = Date(timeIntervalSince1970: .nan) }),
            ("ifModifiedSince has no year", { $1.ifModifiedSince = Date(timeIntervalSince1970: 1e18) }),
            ("\"If-None-Match\" has a control", { $1.ifNoneMatch = "\"a\"\r\nX: y" }),
            ("\"\" is not a method", { request, _ in request.httpMethod = "" }),
            ("\"GET /x\" is not a method", { request, _ in request.httpMethod = "GET /x" }),
        ] as [(String, TransferFixture.Change)] {
            await expectFailure("invalidRequest", words) { try await fixture.load(.text("x"), change) }
        }
        #expect(fixture.server.requests.isEmpty)
    }
}
