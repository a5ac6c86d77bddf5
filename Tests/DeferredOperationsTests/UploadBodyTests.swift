import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Bodies that cannot be read to their end.
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

    let fixture: TransferFixture

    init() throws { fixture = try TransferFixture() }

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

    @Test(
        "O8: a stream that breaks is a failure, whatever the server makes of the beginning",
        arguments: [0, 5, 100_000])
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
}
