import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ManyURLsTests {
    @Test("10,000 URLs from --input are fetched, in little more memory than 500")
    func memory() async throws {
        let server = try LoopbackServer()
        server.route("/a.txt", .text("first\n"))
        let fetch = try FetchProgram()
        func peak(_ count: Int) async throws -> Int {
            let folder = "of-\(count)"
            let list = (0..<count).map { server.url("/a.txt?\($0)") }.joined(separator: "\n")
            let outcome = try await fetch.start(
                ["-q", "-j", "16", "-d", folder, "--input", "-"], input: list
            ).outcome
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(fetch.files(folder).count == count)
            return outcome.peakMemory
        }
        let few = try await peak(500)
        let many = try await peak(10_000)
        // A sanitizer keeps books of its own, in the same memory.
        if !FetchProgram.isSanitized {
            #expect(many - few < 48 * 1024, "\(few) kB for 500, \(many) kB for 10,000")
        }
    }
}
