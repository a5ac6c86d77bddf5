import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LoopbackServerTests {
    let server: LoopbackServer

    init() throws { server = try LoopbackServer() }

    @Test("A route's answer comes with its status, headers and length")
    func fixed() {
        server.route("/a", .text("hello", status: 201, headers: [("X-Mine", "yes")]))
        let answer = RawClient(server.port).get("/a?query=1")
        #expect(answer.hasPrefix("HTTP/1.1 201 "))
        #expect(answer.contains("\r\nX-Mine: yes\r\nContent-Length: 5\r\n"))
        #expect(answer.hasSuffix("\r\n\r\nhello"))
        #expect(RawClient(server.port).get("/none").hasPrefix("HTTP/1.1 404 "))
        #expect(server.requests.map(\.target) == ["/a?query=1", "/none"])
    }

    @Test("Scripted answers are sent one after another, the last one for ever")
    func scripted() {
        server.route("/a", .status(503), .text("fine"))
        let statuses = (0..<3).map { _ in RawClient(server.port).get("/a").split(separator: " ")[1] }
        #expect(statuses == ["503", "200", "200"])
    }

    @Test("A connection serves one request after another until a request asks to close it")
    func keepAlive() {
        server.route("/a", .text("one", headers: []))
        server.route("/last", .text("two", headers: []).closingConnection)
        let client = RawClient(server.port)
        client.send("GET /a HTTP/1.1\r\n\r\n")
        #expect(client.receive(upTo: "one").hasSuffix("one"))
        client.send("GET /last HTTP/1.1\r\n\r\n")
        #expect(client.receiveText().hasSuffix("Connection: close\r\n\r\ntwo"))
        #expect(server.acceptedConnections == 1)
    }

    @Test("An echo returns method, headers and body, fixed, chunked or announced with 100-continue")
    func echo() {
        server.route("/e", .echo)
        for framing in [
            "Content-Length: 5\r\n\r\nhello",
            "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
        ] {
            let head = "PUT /e HTTP/1.1\r\nConnection: close\r\nX-A: b\r\n"
            let answer = RawClient(server.port).request(head + framing)
            #expect(answer.contains("\r\n\r\nPUT /e HTTP/1.1\r\n") && answer.contains("X-A: b\r\n"))
            #expect(answer.hasSuffix("\r\n\r\nhello"))
        }
        let client = RawClient(server.port)
        client.send(
            "PUT /e HTTP/1.1\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(client.receive(upTo: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("ok")
        #expect(client.receiveText().hasSuffix("\r\n\r\nok"))
        #expect(server.requests.map(\.bodyByteCount) == [5, 5, 2])
    }

    @Test("An answer that waits for its gate counts as in progress")
    func gate() async {
        let gate = Gate()
        server.route("/slow", .held(by: gate, then: .text("at last")))
        let clients = (0..<64).map { _ in RawClient(server.port) }
        for client in clients { client.send("GET /slow HTTP/1.1\r\nConnection: close\r\n\r\n") }
        await server.waitForRequests(underWay: 64)
        #expect(server.openConnections == 64)
        gate.open()
        for client in clients {
            #expect(client.receiveText().hasSuffix("at last"))
        }
        await server.waitUntilDisconnected()
        #expect(server.mostRequestsUnderWay == 64)
        #expect(server.requestsUnderWay == 0)
    }

    @Test("A client that leaves a stalled answer frees its thread")
    func clientLeaves() async {
        server.route("/never", .stalled)
        do {
            let client = RawClient(server.port)
            client.send("GET /never HTTP/1.1\r\n\r\n")
            await server.waitForRequests(underWay: 1)
        }
        await server.waitUntilDisconnected()
        #expect(server.requestsUnderWay == 0)
    }

    @Test("Stopping ends stalled, endless and idle connections")
    func stop() async {
        server.route("/never", .stalled)
        server.route("/endless", .endless)
        let idle = RawClient(server.port)
        let stalled = RawClient(server.port)
        let endless = RawClient(server.port)
        stalled.send("GET /never HTTP/1.1\r\n\r\n")
        endless.send("GET /endless HTTP/1.1\r\n\r\n")
        await server.waitForRequests(underWay: 2)
        #expect(endless.receive(1)?.isEmpty == false)
        server.stop()
        #expect(idle.receiveText().isEmpty && stalled.receiveText().isEmpty)
        _ = endless.receiveText()
        #expect(server.openConnections == 0)
    }

    @Test("10,000 connections, one after another")
    func many() async {
        server.route("/a", .text("ok"))
        for _ in 0..<10_000 {
            // Other tests need this thread too.
            await Task.yield()
            guard RawClient(server.port).get("/a").hasSuffix("ok") else {
                Issue.record("a connection was not served")
                return
            }
        }
        await server.waitUntilDisconnected()
        #expect(server.acceptedConnections == 10_000)
    }
}
