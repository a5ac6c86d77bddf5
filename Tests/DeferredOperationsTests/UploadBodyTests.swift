import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

/// Bodies that cannot be read to their end, and streams that have to be sent more than once.
@Suite(.timeLimit(.minutes(5)))
struct UploadBodyTests {
    /// Has some bytes, and then an error.
    private final class BreakingStream: InputStream {
        private var rest: Int
        private var status = Stream.Status.notOpen
        struct Broken: LocalizedError { var errorDescription: String? { "the tape broke" } }

        init(after count: Int) {
            rest = count
            super.init(data: Data())
        }

        override var streamStatus: Stream.Status { status }
        override var streamError: (any Error)? { status == .error ? Broken() : nil }
        override var hasBytesAvailable: Bool { status == .open }
        override func open() { if status == .notOpen { status = .open } }
        override func close() {}
        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
            guard rest > 0 else {
                status = .error
                return -1
            }
            let count = min(rest, maxLength)
            rest -= count
            buffer.update(repeating: 7, count: count)
            return count
        }
    }

    let fixture = TransferFixture()

    private func upload(_ change: (inout URLRequest, inout TransferOptions) -> Void) async -> String {
        fixture.server.route("/it", .echo)
        var request = URLRequest(url: fixture.url("/it"))
        request.httpMethod = "POST"
        var options = TransferOptions.patient
        change(&request, &options)
        switch await URLDataSource(request, options: options).request(on: fixture.queue).result {
        case .success(let response): return "success: \(response.data.text.suffix(20))"
        case .failure(let error): return "\(error)"
        }
    }

    @Test("O8: a stream that cannot be opened is a failure before anything is sent")
    func cannotOpen() async {
        let missing = fixture.file("nothing").path
        for error in [
            await upload { $1.makeBodyStream = { InputStream(fileAtPath: missing)! } },
            await upload { request, _ in request.httpBodyStream = InputStream(fileAtPath: missing)! },
        ] {
            #expect(
                error.contains("the body stream cannot be read")
                    && error.hasPrefix(fixture.url("/it").absoluteString))
        }
        #expect(fixture.server.requests.isEmpty)
    }

    @Test("O8: a stream that breaks is a failure", arguments: [0, 5, 100_000])
    func breaks(_ count: Int) async {
        let error = await upload { $1.makeBodyStream = { BreakingStream(after: count) } }
        #expect(
            error.contains("the body stream cannot be read") && error.contains("the tape broke"), "\(error)")
    }

    @Test("O8: a file that is gone when it is to be sent again is a failure")
    func fileIsGone() async throws {
        let file = fixture.file("body")
        try Data("body".utf8).write(to: file)
        fixture.server.route("/first", .redirect(to: "/it", status: 307))
        let error = await upload { request, options in
            request.url = fixture.url("/first")
            options.uploadFile = file
            options.onRedirect = { _ in
                try FileManager.default.removeItem(at: file)
                return .resolved(.follow)
            }
        }
        #expect(error.contains("cannot be read for the upload"), "\(error)")
        #expect(fixture.server.requests.map(\.path) == ["/first"])
    }

    @Test("A stream that can be read is sent, and the empty one, too")
    func readable() async {
        #expect(
            await upload { $1.makeBodyStream = { InputStream(data: Data("hello".utf8)) } }.hasSuffix("hello"))
        #expect(await upload { $1.makeBodyStream = { InputStream(data: Data()) } }.hasPrefix("success"))
    }

    // MARK: Sent more than once

    private static let body = Data(Pattern.bytes(300_000))

    private let challenged = Answer { exchange in
        guard exchange.request[header: "Authorization"] != nil else {
            try exchange.sendHead(401, [("WWW-Authenticate", "Bearer")], contentLength: 0)
            return
        }
        try exchange.sendHead(200, contentLength: 2)
        try exchange.send("in")
    }

    @Test("A body stream that would be sent again is an error", arguments: [307, 308, 401])
    func readOnce(_ status: Int) async throws {
        fixture.server.route("/target", .text("thanks"))
        let answer = status == 401 ? challenged : .redirect(to: "/target", status: status)
        let error = await fixture.failure(of: answer) { request, options in
            request.httpMethod = "PUT"
            request.httpBodyStream = InputStream(data: Self.body)
            options.onChallenge = { .resolved($0.answered(authorization: "Bearer x")) }
        }
        #expect("\(error)".contains("stream"))
        #expect(fixture.server.requests.map(\.bodyByteCount) == [300_000])
    }

    @Test("A body stream is not needed again if a redirect changes the request into a GET")
    func notNeededAgain() async throws {
        fixture.server.route("/target", .text("fine"))
        let page = try await fixture.load(.redirect(to: "/target", status: 303)) { request, _ in
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: Self.body)
        }
        #expect(page.data.text == "fine")
        #expect(fixture.server.requests.map(\.bodyByteCount) == [300_000, 0])
    }

    @Test("The body stream is made for each request", arguments: [307, 308, 401])
    func made(_ status: Int) async throws {
        fixture.server.route("/target", .text("in"))
        let answer = status == 401 ? challenged : .redirect(to: "/target", status: status)
        let made = Observations<Void>()
        let page = try await fixture.load(answer) { request, options in
            request.httpMethod = "PUT"
            options.makeBodyStream = {
                made.note(())
                return InputStream(data: Self.body)
            }
            options.onChallenge = { .resolved($0.answered(authorization: "Bearer x")) }
        }
        #expect(page.data.text == "in" && made.all.count == 2)
        #expect(fixture.server.requests.map(\.bodyByteCount) == [300_000, 300_000])
        #expect(fixture.server.requests.allSatisfy { $0.bodyIsPattern })
    }

    @Test("What the closure that makes the body stream throws is the failure")
    func notMade() async throws {
        struct Mine: Error {}
        let error = await fixture.failure(of: .text("x")) { request, options in
            request.httpMethod = "PUT"
            options.makeBodyStream = { throw Mine() }
        }
        #expect(error is Mine && fixture.server.requests.isEmpty)
        let two = await fixture.failure(of: .text("x")) { request, options in
            request.httpMethod = "PUT"
            request.httpBody = Data([1])
            options.makeBodyStream = { InputStream(data: Self.body) }
        }
        #expect("\(two)".hasSuffix("more than one body"))
    }
}
