import Deferred
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import DeferredOperations

@Suite(.ownThreads, .watchdog(atOnce: .few))
struct MemoryTests {
    #if os(Linux)
    /// Whether memory can be measured: sanitizers retain freed memory.
    private static let isMeasurable = !Extent.isSanitized
    /// In bytes; at night four times as much.
    private static let large = Extent.isDebug ? 256 << 20 : 1 << 30

    /// Ends the process, in which no other test allocates, with a failure if `body` takes more than 60 MB with a
    /// large body than with a small one.
    ///
    /// - Parameter body: Transfers so many bytes, returns how many, and calls its last argument meanwhile.
    private static func expectConstantMemory(
        _ body: (TransferFixture, Int, @escaping @Sendable () -> Void) async throws -> Int
    ) async throws {
        let fixture = TransferFixture()
        _ = try await body(fixture, 1_000_000) {}
        let (before, most) = (residentByteCount(), Observations<Int>())
        let transferred = try await body(fixture, large) { most.note(residentByteCount()) }
        let grown = (most.all.max() ?? .max) - before
        print("\(large >> 20) MB: \(grown >> 10) KB above the baseline of \(before >> 10) KB")
        exit(transferred >= large && grown < 60 << 20 ? EXIT_SUCCESS : EXIT_FAILURE)
    }

    @Test("O5: a large download takes less than 60 MB", .enabled(if: isMeasurable))
    func constantMemory() async {
        await #expect(processExitsWith: .success) {
            try await Self.expectConstantMemory { fixture, byteCount, note in
                var options = TransferOptions.patient
                options.onProgress = { _ in note() }
                let request = fixture.download(
                    .pattern(byteCount), .init(existing: .replace), transfer: options)
                return Int(try await request.value.byteCount)
            }
        }
    }

    @Test("Streams: a large body takes less than 60 MB, with a slow consumer too", .enabled(if: isMeasurable))
    func constantMemoryOfStreams() async {
        await #expect(processExitsWith: .success) {
            try await Self.expectConstantMemory { fixture, byteCount, note in
                fixture.server.route("/it", .pattern(byteCount))
                let source = StreamDataSource(fixture.url("/it"), options: .patient)
                let request = source.request(on: fixture.queue)
                var (length, pieces) = (0, 0)
                for try await piece in source.body {
                    guard Pattern.matches(piece, at: length) else { exit(2) }
                    (length, pieces) = (length + piece.count, pieces + 1)
                    if pieces % 64 == 0 { note() }
                }
                _ = try await request.value
                return length
            }
        }
    }

    @Test("A large form takes less than 60 MB", .enabled(if: isMeasurable))
    func constantMemoryOfForms() async {
        await #expect(processExitsWith: .success) {
            try await Self.expectConstantMemory { fixture, byteCount, note in
                let file = fixture.file("large")
                try Data().write(to: file)
                guard truncate(file.path, byteCount) == 0 else { exit(2) }
                var form = MultipartForm()
                form.add("file", file: file)
                _ = try await fixture.load(.text("thanks")) { request, options in
                    request.httpMethod = "POST"
                    (options.uploadForm, options.onProgress) = (form, { _ in note() })
                }
                return fixture.server.requests.last?.bodyByteCount ?? 0
            }
        }
    }

    @Test("O4: a process without file descriptors has that in its errors")
    func descriptorShortage() async {
        #expect(DataSourceError.descriptorShortage(URL(fileURLWithPath: "/")) == nil)
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 3, rlim_max: 3)
            guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(2) }
            let failure = DataSourceError.descriptorShortage(URL(fileURLWithPath: "/"))
            exit(
                failure?.description.contains("cannot connect: too many open files") == true
                    ? EXIT_SUCCESS : 1)
        }
    }

    private static func residentByteCount() -> Int {
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (Int(statm.split(separator: " ").dropFirst().first ?? "") ?? 0) * Int(getpagesize())
    }
    #endif

    @Test("A2: data sources release everything when they have ended, whichever way")
    func released() async throws {
        let (fixture, live) = (TransferFixture(), LeakTracker())
        let answers: [Answer] = [
            .text("x"), .status(500), .truncated(after: 1, of: 2), .redirect(to: "/it"), .stalled,
        ]
        for (index, answer) in answers.enumerated() {
            let captured = live.begin()
            let request = fixture.request(answer) { $1.onProgress = { _ in captured.use() } }
            if index == answers.count - 1 {
                await fixture.server.waitForRequests(underWay: 1)
                request.cancel()
            }
            _ = await request.result
        }
        while live.alive > 0 { await Task.yield() }
    }
}
