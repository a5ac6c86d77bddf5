import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// O12: what a server and a cancel do does not end the process. Each case runs in a process of its own. `.ci/nightly` has
/// a program that tries many more.
@Suite(.serialized, .watchdog(atOnce: .few))
struct SurvivalTests {
    enum Body: CaseIterable { case file, form, stream }

    /// Uploads 1 MB `count` times to a server that answers before it has read it.
    private static func upload(_ body: Body, _ answer: Answer, _ count: Int, isCancelled: Bool) async throws {
        let fixture = TransferFixture()
        try Data(count: 1_000_000).write(to: fixture.file("body"))
        var form = MultipartForm()
        form.add("file", file: fixture.file("body"))
        fixture.server.route("/it", afterBytes: 0, answer)
        for number in 0..<count {
            let upload = fixture.request { request, options in
                request.httpMethod = "PUT"
                switch body {
                case .file: options.uploadFile = fixture.file("body")
                case .form: options.uploadForm = form
                case .stream:
                    options.makeBodyStream = { InputStream(url: fixture.file("body"))! }
                    options.bodyByteCount = 1_000_000
                }
            }
            if isCancelled {
                await fixture.server.waitForRequests(seen: number + 1)
                upload.cancel()
            }
            _ = await upload.result
        }
        // The fixture is not released.
        try? FileManager.default.removeItem(at: fixture.folder)
        exit(EXIT_SUCCESS)
    }

    @Test(
        "O12: an upload survives a server that closes, resets or answers early, and a cancel",
        arguments: Body.allCases)
    func early(_ body: Body) async {
        switch body {
        case .file:
            await #expect(processExitsWith: .success) {
                try await Self.upload(.file, .hungUp, 60, isCancelled: false)
            }
            await #expect(processExitsWith: .success) {
                try await Self.upload(.file, .stalled, 20, isCancelled: true)
            }
        case .form:
            await #expect(processExitsWith: .success) {
                try await Self.upload(.form, .hungUp, 60, isCancelled: false)
            }
            await #expect(processExitsWith: .success) {
                try await Self.upload(.form, .text("early").closingConnection, 60, isCancelled: false)
            }
        case .stream:
            await #expect(processExitsWith: .success) {
                try await Self.upload(.stream, .reset, 60, isCancelled: false)
            }
        }
    }
}
