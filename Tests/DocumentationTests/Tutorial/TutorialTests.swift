import CompilerProcess
import Deferred
import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite(.watchdog(atOnce: .few)) struct TutorialTests {
    let server: LoopbackServer

    init() throws { server = try LoopbackServer() }

    private func url(_ path: String) -> URL { URL(string: server.url(path))! }

    /// The code of a step, without `@main` and imports.
    private func code(of step: Int) throws -> String {
        let resources = "Sources/DeferredOperations/DeferredOperations.docc/Resources"
        return try Package.text(of: "\(resources)/fetcher-\(step).swift")
            .split(separator: "\n").filter { $0 != "@main" && !$0.hasPrefix("import ") }
            .joined(separator: "\n")
    }

    @Test("Tutorial: each step compiles; `.ci/tutorial` runs them")
    func compiles() async throws {
        let steps = try (1...7).map { step in "enum Step\(step) {\n\(try code(of: step))\n}\n" }
        let imports = "import Deferred\nimport DeferredOperations\nimport Foundation\n"
        #expect(try await Compiler().complaints(about: imports + steps.joined()) == [])
    }

    @Test("Tutorial: the fetcher below is that of the last step")
    func lastStep() throws {
        let tested = try Package.text(of: "Tests/DocumentationTests/Tutorial/Step7.swift")
        #expect(tested.filter { !$0.isWhitespace }.contains(try code(of: 7).filter { !$0.isWhitespace }))
    }

    @Test("Tutorial: the fetcher tries again after a transient error only")
    func retrying() async throws {
        server.route("/busy", .status(503, headers: [("Retry-After", "0")]), .text("a page"))
        #expect(try await Step7.Fetcher().page(at: url("/busy")).value.count == 6)
        server.route("/gone", .status(404))
        await #expect(throws: (any Error).self) { try await Step7.Fetcher().page(at: url("/gone")).value }
        #expect(server.requests.count { $0.path == "/gone" } == 1)
    }

    @Test("Tutorial: the fetcher reports on pages, and loads the quickest of several mirrors")
    func fetcher() async throws {
        server.route("/a", .text("a page"))
        server.route("/never", .held(by: Gate(), then: .text("too late")))
        let lines = try await Step7.Fetcher().report(on: [url("/a"), url("/gone")]).value
        #expect(lines.first == "/a: 6 bytes")
        #expect(lines.last?.contains("404") == true)
        let quickest = Step7.Fetcher().quickest(of: [url("/never"), url("/a")])
        #expect(try await quickest.value.count == 6)
    }
}
