import Deferred
import Foundation
import Testing

@testable import DeferredOperations

/// What swift-corelibs-foundation reports of a request of https through a proxy: the head of the answer to CONNECT, if
/// there is no connection yet, and then the server's.
struct TunnelTests {
    private enum Event {
        case head(Int, [String: String] = [:])
        case bytes(String)
        /// The end, with the response that Foundation has by then, which it may not have delivered.
        case end(HTTPURLResponse, (any Error)? = nil)
    }

    private static let address = "https://example.org/it"
    private static let proxy = Event.head(200, ["X-Proxy": "1"])

    private static func end(_ status: Int, _ headers: [String: String] = [:], failing words: String? = nil)
        -> Event
    {
        .end(
            .of(address, status, headers),
            words.map { URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: $0]) })
    }

    private static let cases: [(events: [Event], expected: String)] = [
        ([proxy, .head(404), .bytes("not here"), end(404)], "\(address): 404 "),
        ([.head(200, ["Content-Length": "7"]), .head(200), .bytes("hello"), end(200)], "200 hello"),
        ([proxy, .head(100), .head(203), .bytes("hello"), end(203)], "203 hello"),
        ([proxy, .head(203, ["Content-Length": "0"]), end(203)], "203 "),
        ([proxy, end(302, ["Location": "/next"])], "\(address): redirected more than 0 times"),
        // On a connection that was kept.
        ([.head(203), .bytes("hel"), .bytes("lo"), end(203)], "203 hello"),
        ([.head(103), .head(203), .bytes("hello"), end(203)], "203 hello"),
        ([.head(204), end(204)], "204 "),
        ([.head(203, ["Content-Length": "5"]), .bytes("he"), end(203)], "\(address): truncated: 2 of 5"),
        // No tunnel, or no server of TLS at its end.
        ([.head(407), end(407, failing: "CONNECT 407")], "\(address): cannot connect: through the proxy: "),
        ([proxy, end(200, failing: "SSL: wrong version")], "\(address): cannot connect: SSL: wrong version"),
        ([proxy, end(200, failing: "reset by peer")], "\(address): connection lost: reset by peer"),
    ]

    @Test("O4: the head of a proxy's answer is not the answer", arguments: cases.indices)
    func heads(_ index: Int) async throws {
        let (events, expected) = Self.cases[index]
        let session = TransferSession(configuration: .ephemeral)
        // No task is made, and so none reports anything.
        session.control.suspend()
        defer { session.control.resume() }
        let request = URLRequest(url: URL(string: Self.address)!)
        let sink = MemorySink(request)
        let transfer = Transfer(request, TransferOptions(maximumRedirectCount: 0), session, into: sink)
        let (ended, resolver) = Deferred<HTTPURLResponse>.withResolver()
        transfer.start(requestedAt: nil) { resolver.complete(with: $0) }
        for event in events {
            switch event {
            case .head(let status, let headers):
                transfer.receive(.of(Self.address, status, headers), isProxied: true, of: 1)
            case .bytes(let text): transfer.receive(Data(text.utf8), of: 1)
            case .end(let response, let error): transfer.complete(response, error, of: 1)
            }
        }
        switch await ended.result {
        case .success(let response): #expect("\(response.statusCode) \(sink.data.text)" == expected)
        case .failure(let error): #expect("\(error)".hasPrefix(expected), "\(error)")
        }
    }
}
