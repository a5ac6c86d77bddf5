import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite(.watchdog(atOnce: .few)) struct LinkcheckTests {
    private struct Report: Decodable {
        struct Link: Decodable { let url: String, error: String }
        let working: Int, broken: [Link], notChecked: Int
    }

    private let server: LoopbackServer

    init() throws { server = try LoopbackServer() }

    private func page(_ links: String...) -> Answer {
        .text(links.map { "<a href=\"\($0)\">" }.joined(), headers: [("Content-Type", "text/html")])
    }

    /// Starts the program, without time limits of its own: a busy machine may take any time.
    private func start(_ arguments: String...) throws -> ExampleProgram {
        try ExampleProgram("linkcheck", ["--deadline", "100000", "--silence", "100000"] + arguments)
    }

    private func end(of program: ExampleProgram) async throws -> (status: Int32, report: Report) {
        let status = try await program.status.value
        return (status, try JSONDecoder().decode(Report.self, from: program.output))
    }

    @Test("linkcheck: pages are read once, a busy one is asked again, and a link to nowhere is reported")
    func site() async throws {
        server.route("/", page("/a", "/b", "/c", "/missing"))
        server.route("/a", .unavailable(retryAfter: "0"), page("/", "/b"))
        server.route("/b", .redirect(to: "/c"))
        server.route("/c", page("/missing"))
        let (status, report) = try await end(of: start("--limit", "2", server.url("/")))
        #expect(status == 1)
        #expect(report.working == 4 && report.notChecked == 0)
        #expect(report.broken.map(\.url) == [server.url("/missing")])
        #expect(report.broken.first?.error.contains("404") == true)
        #expect(server.mostRequestsUnderWay <= 2)
        #expect(server.requests.filter { $0.path == "/missing" }.count == 1)
    }

    @Test("linkcheck: Ctrl-C cancels, and reports what was checked")
    func interrupt() async throws {
        server.route("/", page("/a"))
        server.route("/a", page("/stalls"))
        server.route("/stalls", .stalled)
        let program = try start(server.url("/"))
        await server.waitForRequests(seen: 3)
        program.process.interrupt()
        let (status, report) = try await end(of: program)
        #expect(status == 130)
        #expect(report.working == 2 && report.notChecked == 1)
    }

    @Test("linkcheck: after the deadline, what was checked is reported")
    func deadline() async throws {
        server.route("/", page("/stalls"))
        server.route("/stalls", .stalled)
        let (status, report) = try await end(of: start("--deadline", "1", server.url("/")))
        #expect(status == 3)
        #expect(report.broken.isEmpty && report.notChecked >= 1)
    }

    @Test("linkcheck: the demo of the README")
    func demo() async throws {
        let (status, report) = try await end(of: start("--demo"))
        #expect(status == 1 && report.working == 5 && report.broken.count == 1)
    }

    @Test("linkcheck: wrong usage", arguments: ["--limit", "nowhere"])
    func usage(argument: String) async throws {
        #expect(try await ExampleProgram("linkcheck", [argument]).status.value == 2)
    }
}
