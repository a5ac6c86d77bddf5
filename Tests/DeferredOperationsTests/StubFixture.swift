import Deferred
import DeferredOperations
import Foundation

#if canImport(LoopbackServer)
import LoopbackServer
#else
import FileServing
#endif

/// A stub, a queue and a folder for one test: what `TransferFixture` is, without sockets, threads and Foundation's transport.
final class StubFixture: Fixture {
    let server: StubServer
    let session: TransferSession
    let queue = OperationQueue()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stub-\(UUID())")

    init(canPause: Bool = true) {
        server = StubServer(canPause: canPause)
        session = TransferSession(transport: server.transport)
        try! FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func url(_ path: String) -> URL { URL(string: "http://stub.example\(path)")! }
    func serve(_ path: String, _ answer: StubTransport.Answer) { server.route(path, answer) }
}

/// Waits until that is so, or the time limit of the test cancels it.
func wait(until isSo: () -> Bool) async { while !isSo(), !Task.isCancelled { await Task.yield() } }

/// Answers by path, with the names that `LoopbackServer` has.
final class StubServer: Sendable {
    private struct State {
        var routes: [String: @Sendable (StubTransport.Request) -> StubTransport.Answer] = [:]
        var seen = 0
    }

    private let state: Watched<State>
    let transport: StubTransport

    init(canPause: Bool) {
        let state = Watched(State())
        self.state = state
        transport = StubTransport(canPause: canPause) { request in
            state.update { $0.seen += 1 }
            return state.value.routes[request.path]?(request) ?? .answer(404)
        }
    }

    func route(_ path: String, _ answer: StubTransport.Answer) { route(path) { _ in answer } }

    func route(_ path: String, answer: @escaping @Sendable (StubTransport.Request) -> StubTransport.Answer) {
        state.update { $0.routes[path] = answer }
    }

    var requests: [StubTransport.Request] { transport.requests }

    func waitForRequests(seen count: Int) async { await state.wait { $0.seen >= count } }

    func waitForRequests(underWay count: Int) async {
        await wait(until: { transport.inProgressCount >= count })
    }

    /// Waits until each request has ended or been cancelled.
    func waitUntilIdle() async { await wait(until: { transport.inProgressCount == 0 }) }
}

extension StubTransport.Request {
    var path: String { urlRequest.url?.path ?? "" }
}

/// Answers with the names that `LoopbackServer` has for them.
extension StubTransport.Answer {
    static func text(_ text: String) -> Self { .answer(text: text) }
    static func status(_ status: Int) -> Self { .answer(status, text: "status \(status)\n") }
    static func pattern(_ byteCount: Int) -> Self { .answer(body: Data(Pattern.bytes(byteCount))) }
    static var stalled: Self { .silent }
    static var hungUp: Self { .failure(URLError(.networkConnectionLost)) }

    static func stalled(after sent: Int, of byteCount: Int) -> Self {
        .init([
            .head(200, ["Content-Length": "\(byteCount)"]), .bytes(Data(Pattern.bytes(sent))),
        ])
    }
}
