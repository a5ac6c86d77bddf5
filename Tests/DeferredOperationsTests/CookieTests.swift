#if canImport(FoundationNetworking)
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

@testable import DeferredOperations

/// The cookies of Foundation's transport on Linux (RFC 6265).
@Suite(.timeLimit(.minutes(5)))
struct CookieTests {
    /// Cookies that an address sets, a second one, and what a request then sends.
    struct Case: Sendable {
        var from = "http://www.example.org/a/b"
        let set: [String]
        var to = "http://www.example.org/a/b"
        let sent: String?
    }

    private static let past = "Thu, 01 Jan 1970 00:00:00 GMT"

    private static let cases = [
        Case(set: ["s=1"], sent: "s=1"), Case(set: ["s=1"], to: "http://www.example.org", sent: "s=1"),
        Case(set: ["s=1, t=2"], sent: "s=1; t=2"),
        Case(set: ["s=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT, t=2"], sent: "s=1; t=2"),
        Case(set: ["s=1"], to: "http://example.org/", sent: nil),
        Case(set: ["s=1"], to: "http://other.org/", sent: nil),
        // Paths.
        Case(set: ["s=1; Path=/a"], sent: "s=1"), Case(set: ["s=1; Path=/a/b"], sent: "s=1"),
        Case(set: ["s=1; Path=/a/"], sent: "s=1"), Case(set: ["s=1; Path=/c"], sent: nil),
        Case(set: ["s=1; Path=/a"], to: "http://www.example.org/ab", sent: nil),
        Case(set: ["s=1; Path=/a/"], to: "http://www.example.org/a/", sent: "s=1"),
        Case(set: ["s=1; Path=/a/"], to: "http://www.example.org/a", sent: nil),
        Case(set: ["s=1; Path=/", "s=2; Path=/a"], sent: "s=2; s=1"),
        // Times.
        Case(set: ["s=1", "s=2"], sent: "s=2"), Case(set: ["s=1; Max-Age=100"], sent: "s=1"),
        Case(set: ["s=1", "s=; Max-Age=0"], sent: nil), Case(set: ["s=1", "s=; Max-Age=-1"], sent: nil),
        Case(set: ["s=1", "s=; Expires=\(past)"], sent: nil),
        Case(set: ["s=1; Max-Age=100; Expires=\(past)"], sent: "s=1"),
        // Only over TLS.
        Case(
            from: "https://www.example.org/", set: ["s=1; Secure"], to: "https://www.example.org/",
            sent: "s=1"),
        Case(from: "https://www.example.org/", set: ["s=1; Secure"], sent: nil),
        Case(set: ["s=1; Secure"], to: "https://www.example.org/", sent: nil),
        // Domains.
        Case(set: ["s=1; Domain=example.org"], to: "http://example.org/", sent: "s=1"),
        Case(set: ["s=1; Domain=example.org"], to: "http://badexample.org/", sent: nil),
        Case(set: ["s=1; Domain=other.org"], to: "http://other.org/", sent: nil),
        Case(set: ["s=1; Domain=org"], to: "http://other.org/", sent: nil),
        Case(from: "http://10.0.0.1/", set: ["s=1; Domain=0.0.1"], to: "http://127.0.0.1/", sent: nil),
        Case(from: "http://10.0.0.1/", set: ["s=1"], to: "http://10.0.0.1/", sent: "s=1"),
        // What is no cookie.
        Case(set: ["", "=", ";", "s", "; Path=/"], sent: nil),
    ]

    private func request(_ text: String, _ cookie: String? = nil) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: text)))
        if let cookie { request.setValue(cookie, forHTTPHeaderField: "Cookie") }
        return request
    }

    private func keep(_ text: String, _ request: URLRequest, in jar: CookieJar) throws {
        let head = HTTPURLResponse(
            url: try #require(request.url), statusCode: 200, httpVersion: nil,
            headerFields: ["set-cookie": text])
        jar.keep(try #require(head), to: request)
    }

    @Test(
        "A cookie is sent to its hosts and paths, until it ends, and a secure one only over TLS",
        arguments: cases)
    func rules(row: Case) throws {
        let jar = CookieJar(of: .ephemeral)
        for text in row.set { try keep(text, request(row.from), in: jar) }
        #expect(jar.adding(to: try request(row.to)).value(forHTTPHeaderField: "Cookie") == row.sent, "\(row)")
    }

    @Test("A request with a Cookie header of its own, or that handles none, gets none and leaves none")
    func own() throws {
        let jar = CookieJar(of: .ephemeral)
        let address = "http://example.org/"
        try keep("s=1", request(address), in: jar)
        var unhandled = try request(address)
        unhandled.httpShouldHandleCookies = false
        for (request, sent) in [(try request(address, "own=1"), "own=1"), (unhandled, nil)] {
            try keep("t=2", request, in: jar)
            #expect(jar.adding(to: request).value(forHTTPHeaderField: "Cookie") == sent)
        }
        #expect(jar.adding(to: try request(address)).value(forHTTPHeaderField: "Cookie") == "s=1")
    }

    @Test("A server that sets very many cookies is sent some of them")
    func many() throws {
        let jar = CookieJar(of: .ephemeral)
        let address = "http://example.org/"
        let text = (0..<300).map { "c\($0)=\(String(repeating: "x", count: 100))" }.joined(separator: ", ")
        try keep(text, request(address), in: jar)
        let header = jar.adding(to: try request(address)).value(forHTTPHeaderField: "Cookie")
        #expect((7000...8190).contains(header?.utf8.count ?? 0))
    }

    @Test("What a configuration says of cookies is kept: its storage, its policy, and its own header")
    func configured() throws {
        let address = "http://example.org/"
        for change: (URLSessionConfiguration) -> Void in [
            { $0.httpCookieAcceptPolicy = .never }, { $0.httpShouldSetCookies = false },
            { $0.httpCookieStorage = nil }, { $0.httpAdditionalHeaders = ["cookie": "own=1"] },
        ] {
            let configuration = URLSessionConfiguration.ephemeral
            change(configuration)
            let jar = CookieJar(of: configuration)
            try keep("s=1", request(address), in: jar)
            #expect(jar.adding(to: try request(address)).value(forHTTPHeaderField: "Cookie") == nil)
        }
        let configuration = URLSessionConfiguration.ephemeral
        let storage = try #require(configuration.httpCookieStorage)
        let jar = CookieJar(of: configuration)
        #expect(configuration.httpCookieStorage == nil)
        try keep("s=1", request(address), in: jar)
        #expect(storage.cookies?.map(\.name) == ["s"])
    }

    @Test("O15: a session sends what it was sent: by an answer, a redirect, and a challenge")
    func session() async throws {
        let fixture = TransferFixture(session: TransferSession())
        let server = fixture.server
        server.route("/a", .text("a", headers: [("set-cookie", "a=1"), ("set-cookie", "b=2; Path=/none")]))
        server.route("/r", .text("", status: 302, headers: [("Location", "/echo"), ("Set-Cookie", "r=1")]))
        server.route(
            "/c", .text("", status: 401, headers: [("WWW-Authenticate", "Basic"), ("Set-Cookie", "c=1")]))
        server.route("/echo", .echo)
        for path in ["/a", "/c", "/r"] {
            let source = URLDataSource(
                URLRequest(url: try #require(URL(string: server.url(path)))), options: .patient,
                session: fixture.session)
            _ = await source.request(on: fixture.queue).result
        }
        #expect(server.requests.map { $0[header: "Cookie"] } == [nil, "a=1", "a=1; c=1", "a=1; c=1; r=1"])
    }
}
#endif
