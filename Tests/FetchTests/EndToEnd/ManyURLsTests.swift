import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ManyURLsTests: ProgramSuite {
    let fetch = FetchProgram(serving: ["/a.txt": .text("first\n")])

    @Test("4,000 URLs from --input are fetched, in little more memory than 500")
    func memory() async throws {
        func peak(_ count: Int) async throws -> Int? {
            let gate = Gate()
            server.route("/last", .held(by: gate, then: .text("last\n")))
            let folder = "of-\(count)"
            let paths = (1..<count).map { "/a.txt?\($0)" } + ["/last"]
            let list = paths.map(server.url).joined(separator: "\n")
            let before = server.requests.count
            let program = try fetch.start(["-q", "-j", "16", "-d", folder, "--input", "-"], input: list)
            await server.waitForRequests(seen: before + count)
            let peak = Self.peakMemory(of: program)
            gate.open()
            let outcome = await program.outcome
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(fetch.files(folder).count == count)
            return peak
        }
        let few = try await peak(500)
        // A sanitizer takes memory and time of its own.
        let many = try await peak(FetchProgram.isSanitized ? 1000 : 4_000)
        if !FetchProgram.isSanitized, let few, let many {
            #expect(many - few < 24 * 1024, "\(few) kB for 500, \(many) kB for 4,000")
        }
    }

    /// The peak memory of a process so far, in kilobytes; nil where the system does not report it. (On
    /// Linux, the figure of `wait4` includes the memory of the parent process.)
    private static func peakMemory(of program: RunningProgram) -> Int? {
        let status = try? String(contentsOfFile: "/proc/\(program.identifier)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.split(whereSeparator: \.isWhitespace)[1]) }
    }
}
