import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestThreads
import Testing

@Suite(.timeLimit(.minutes(20)), .ownThreads)
struct MemoryTests {
    #if os(Linux)
    /// Whether memory is what it would be: sanitizers keep what has been freed.
    private static var isUninstrumented: Bool {
        dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil
    }

    @Test("O5: a download of 1 GB takes less than 60 MB", .enabled(if: isUninstrumented))
    func constantMemory() async {
        // In a process of its own, where no other test takes memory.
        await #expect(processExitsWith: .success) {
            let byteCount = 1 << 30
            let fixture = try TransferFixture()
            fixture.server.route("/small", .pattern(1_000_000))
            fixture.server.route("/large", .pattern(byteCount))
            func download(_ name: String, _ options: TransferOptions = .patient) async throws -> Int64 {
                try await DownloadDataSource(
                    fixture.url("/\(name)"), to: fixture.file(name), options: options
                )
                .request(on: fixture.queue).value.byteCount
            }
            _ = try await download("small")
            let before = Self.residentByteCount()
            let most = Recorder<Int>()
            var options = TransferOptions.patient
            options.onProgress = { _ in most.note(Self.residentByteCount()) }
            let arrived = try await download("large", options)
            let grown = (most.all.max() ?? 0) - before
            print("1 GB: \(grown >> 10) KB above the baseline of \(before >> 10) KB, \(most.all.count) looks")
            guard arrived == byteCount, grown < 60 << 20 else { exit(1) }
        }
    }

    private static func residentByteCount() -> Int {
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (Int(statm.split(separator: " ").dropFirst().first ?? "") ?? 0) * Int(getpagesize())
    }
    #endif

    @Test("A2: data sources let go of everything when they have ended, whichever way")
    func letGo() async throws {
        final class Watched: Sendable {
            let log: Recorder<Void>
            init(_ log: Recorder<Void>) { self.log = log }
            deinit { log.note(()) }
        }
        let fixture = try TransferFixture()
        let answers: [Answer] = [
            .text("x"), .status(500), .truncated(after: 1, of: 2), .redirect(to: "/it"), .stalled,
        ]
        let gone = Recorder<Void>()
        for (index, answer) in answers.enumerated() {
            fixture.server.route("/it", answer)
            let watched = Watched(gone)
            var options = TransferOptions.patient
            options.onProgress = { _ in withExtendedLifetime(watched) {} }
            let request = URLDataSource(fixture.url("/it"), options: options).request(on: fixture.queue)
            if index == answers.count - 1 {
                await fixture.server.waitForRequests(underWay: 1)
                request.cancel()
            }
            _ = await request.result
        }
        await gone.wait(for: answers.count)
        #expect(gone.all.count == answers.count)
    }
}
