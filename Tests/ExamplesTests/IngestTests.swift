import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite(.watchdog(atOnce: .few)) final class IngestTests {
    private let server: LoopbackServer
    private let folder = FileManager.default.temporaryDirectory.appending(path: "ingest-\(UUID())")
    private let gate = Gate()
    private let source = (0..<5_000).map { "station\($0),\($0 % 40)\n" }.joined()

    init() throws {
        server = try LoopbackServer()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private var file: String { folder.appending(path: "out").path }
    private var output: String? { try? String(contentsOfFile: file, encoding: .utf8) }

    /// Serves `text`, of which the first request receives half.
    private func serve(_ text: String, etag: String, isHeld: Bool) {
        let (bytes, gate) = (Array(text.utf8), gate)
        server.route("/source") { request in
            let asked = request[header: "If-Range"] == etag ? request[header: "Range"] : nil
            let offset = asked.flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
            guard offset < bytes.count else { return .status(416) }
            return Answer { exchange in
                let range = ("Content-Range", "bytes \(offset)-\(bytes.count - 1)/\(bytes.count)")
                try exchange.sendHead(
                    offset > 0 ? 206 : 200, [("ETag", etag)] + (offset > 0 ? [range] : []),
                    contentLength: bytes.count - offset)
                let middle = isHeld ? bytes.count / 2 : offset
                try exchange.send(Array(bytes[offset..<middle]))
                if isHeld { try exchange.wait(for: gate) }
                try exchange.send(Array(bytes[middle...]))
            }
        }
    }

    private func expected(of source: String) -> String {
        source.split(separator: "\n").map { line in
            let fields = line.split(separator: ",")
            return "\(fields[0]),\((Double(fields[1])! * 1.8 + 32).rounded())\n"
        }.joined()
    }

    /// Runs the program to its end, and returns the ranges that it asks for.
    private func run() async throws -> [String?] {
        let earlier = server.requests.count
        #expect(try await ExampleProgram("ingest", [server.url("/source"), file]).status.value == 0)
        return server.requests.dropFirst(earlier).map { $0[header: "Range"] }
    }

    /// Starts the program, kills it when it has written something, and returns how far it has come.
    private func killedRun() async throws -> Int {
        struct Checkpoint: Decodable { let offset: Int }
        let path = file + ".checkpoint"
        @Sendable func offset() -> Int {
            let data = FileManager.default.contents(atPath: path) ?? Data()
            return (try? JSONDecoder().decode(Checkpoint.self, from: data))?.offset ?? 0
        }
        let program = try ExampleProgram("ingest", [server.url("/source"), file])
        // On a thread of its own, which no other test delays.
        Thread.detachNewThread { [identifier = program.process.processIdentifier] in
            while offset() == 0, kill(identifier, 0) == 0 { usleep(1000) }
            kill(identifier, SIGKILL)
        }
        _ = try await program.status.value
        await server.waitUntilDisconnected()
        return offset()
    }

    @Test("ingest: after a kill it continues, and nothing is lost or there twice")
    func resumed() async throws {
        serve(source, etag: "\"one\"", isHeld: true)
        let offset = try await killedRun()
        serve(source, etag: "\"one\"", isHeld: false)
        #expect(try await run() == ["bytes=\(offset)-"])
        #expect(output == expected(of: source))
        // There is nothing more to do.
        #expect(try await run() == ["bytes=\(source.utf8.count)-"])
        #expect(output == expected(of: source))
    }

    @Test("ingest: the demo of the README")
    func demo() async throws {
        #expect(try await ExampleProgram("ingest", ["--demo", file]).status.value == 0)
        #expect(output?.count { $0.isNewline } == 20_000)
    }

    @Test("ingest: a source that has changed is read from its beginning")
    func changed() async throws {
        serve(source, etag: "\"one\"", isHeld: true)
        _ = try await killedRun()
        serve("new,10\n", etag: "\"two\"", isHeld: false)
        _ = try await run()
        #expect(output == "new,50.0\n")
    }
}
