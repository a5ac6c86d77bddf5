import LoopbackServer
import TestSupport
import Testing

/// What clients that are Foundation's do not show: the bytes on the connection, and the end of the server.
@Suite(.watchdog(atOnce: .few))
struct LoopbackServerTests {
    let server: LoopbackServer

    init() throws { server = try LoopbackServer() }

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
        // No text: each byte that is none would cost an error, whose backtrace Swift Testing keeps.
        while endless.receive()?.isEmpty == false {}
        #expect(server.openConnections == 0)
    }
}
