import Deferred
import Foundation
import LoopbackServer
import Testing

@Suite struct TutorialTests {
    let server: LoopbackServer

    init() throws { server = try LoopbackServer() }

    private func url(_ path: String) -> URL { URL(string: server.url(path))! }

    @Test("Tutorial: the code of each step is compiled by the tests", arguments: 1...7)
    func code(step: Int) throws {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let shown = try String(
            contentsOf: root.appending(
                path:
                    "Sources/DeferredOperations/DeferredOperations.docc/Resources/fetcher-\(step).swift"),
            encoding: .utf8)
        let tested = try String(contentsOf: here.appending(path: "Step\(step).swift"), encoding: .utf8)
        // A test bundle has its own entry point, so `@main` is left out. Imports stand at the top of the file.
        let code = shown.split(separator: "\n").filter { $0 != "@main" && !$0.hasPrefix("import ") }
        #expect(code.count > 5)
        #expect(tested.filter { !$0.isWhitespace }.contains(code.joined().filter { !$0.isWhitespace }))
    }

    @Test("Tutorial: the first two steps load a page")
    func firstSteps() async throws {
        server.route("/a", .text("a page"))
        #expect(try await Step1.Fetcher().page(at: url("/a")).value.count == 6)
        #expect(try await Step2.Fetcher().page(at: url("/a")).value.count == 6)
    }

    @Test("Tutorial: the third step tries again after a transient error only")
    func retrying() async throws {
        server.route("/busy", .status(503, headers: [("Retry-After", "0")]), .text("a page"))
        #expect(try await Step3.Fetcher().page(at: url("/busy")).value.count == 6)
        server.route("/gone", .status(404))
        await #expect(throws: (any Error).self) { try await Step3.Fetcher().page(at: url("/gone")).value }
        #expect(server.requests.count { $0.path == "/gone" } == 1)
    }

    @Test("Tutorial: the fourth step returns each outcome")
    func many() async throws {
        server.route("/a", .text("a page"))
        let results = try await Step4.Fetcher().pages(at: [url("/a"), url("/gone")]).value
        #expect(try results[0].get().count == 6)
        #expect(throws: (any Error).self) { try results[1].get() }
    }

    @Test("Tutorial: the fetcher reports on pages, and loads the quickest of several mirrors")
    func fetcher() async throws {
        server.route("/a", .text("a page"))
        server.route("/never", .held(by: Gate(), then: .text("too late")))
        let lines = try await Step5.Fetcher().report(on: [url("/a"), url("/gone")]).value
        #expect(lines.first == "/a: 6 bytes")
        #expect(lines.last?.contains("404") == true)
        #expect(try await Step7.Fetcher().report(on: [url("/a")]).value == ["/a: 6 bytes"])
        let quickest = Step6.Fetcher().quickest(of: [url("/never"), url("/a")])
        #expect(try await quickest.value.count == 6)
    }
}
