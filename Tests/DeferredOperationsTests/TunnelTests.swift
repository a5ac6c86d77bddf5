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
        let request = URLRequest(url: URL(string: Self.address)!)
        let sink = MemorySink(request)
        let (sent, ended) = (Observations<TransportExchange>(), Deferred<HTTPURLResponse>.withResolver())
        let stub = StubTransport { _ in .init([.call { sent.note($0) }]) }
        var options = TransferOptions.patient
        options.maximumRedirectCount = 0
        let transfer = Transfer(request, options, TransferSession(transport: stub), into: sink)
        transfer.start(requestedAt: nil) { ended.resolver.complete(with: $0) }
        await sent.wait(for: 1)
        let answer = FoundationAnswer(sent.all[0], to: request)
        for event in events {
            switch event {
            case .head(let status, let headers):
                answer.receive(.of(Self.address, status, headers), isProxied: true)
            case .bytes(let text): answer.receive(Data(text.utf8))
            case .end(let response, let error): answer.end(response, error)
            }
        }
        switch await ended.deferred.result {
        case .success(let response): #expect("\(response.statusCode) \(sink.data.text)" == expected)
        case .failure(let error): #expect("\(error)".hasPrefix(expected), "\(error)")
        }
    }
}
