import Deferred
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import DeferredOperations

@Suite(.ownThreads)
struct MemoryTests {
    #if os(Linux)
    /// Whether memory can be measured: sanitizers retain freed memory.
    private static var isUninstrumented: Bool {
        dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil
    }

    @Test("O5: a download of 1 GB takes less than 60 MB", .enabled(if: isUninstrumented))
    func constantMemory() async {
        // In a process of its own, where no other test allocates.
        await #expect(processExitsWith: .success) {
            let byteCount = 1 << 30
            let fixture = try TransferFixture()
            fixture.server.route("/small", .pattern(1_000_000))
            fixture.server.route("/large", .pattern(byteCount))
            func download(_ name: String, _ options: TransferOptions = .patient) async throws -> Int64 {
                try await DownloadDataSource(
                    fixture.url("/\(name)"), to: fixture.file(name), transfer: options
                )
                .request(on: fixture.queue).value.byteCount
            }
            _ = try await download("small")
            let before = Self.residentByteCount()
            let most = Observations<Int>()
            var options = TransferOptions.patient
            options.onProgress = { _ in most.note(Self.residentByteCount()) }
            let arrived = try await download("large", options)
            let grown = (most.all.max() ?? 0) - before
            print(
                "1 GB: \(grown >> 10) KB above the baseline of \(before >> 10) KB, \(most.all.count) measurements"
            )
            guard arrived == byteCount, grown < 60 << 20 else { exit(1) }
        }
    }

    @Test(
        "Streams: a stream of 1 GB takes less than 60 MB, with a slow consumer too",
        .enabled(if: isUninstrumented)
    )
    func constantMemoryOfStreams() async {
        await #expect(processExitsWith: .success) {
            let byteCount = 1 << 30
            let fixture = try TransferFixture()
            fixture.server.route("/small", .pattern(1_000_000))
            fixture.server.route("/large", .pattern(byteCount))
            func read(_ name: String) async throws -> (length: Int, peak: Int) {
                let source = StreamDataSource(fixture.url("/\(name)"), options: .patient)
                let request = source.request(on: fixture.queue)
                var (length, peak, pieces) = (0, 0, 0)
                for try await piece in source.body {
                    guard Pattern.matches(piece, at: length) else { exit(2) }
                    length += piece.count
                    pieces += 1
                    if pieces % 64 == 0 { peak = max(peak, Self.residentByteCount()) }
                }
                _ = try await request.value
                return (length, peak)
            }
            _ = try await read("small")
            let before = Self.residentByteCount()
            let (length, peak) = try await read("large")
            print("1 GB: \((peak - before) >> 10) KB above the baseline of \(before >> 10) KB")
            guard length == byteCount, peak - before < 60 << 20 else { exit(1) }
        }
    }

    @Test("A form of 300 MB takes less than 60 MB", .enabled(if: isUninstrumented))
    func constantMemoryOfForms() async {
        await #expect(processExitsWith: .success) {
            let fixture = try TransferFixture()
            let file = fixture.file("large")
            try Data(count: 1 << 20).write(to: file)
            guard truncate(file.path, 300 << 20) == 0 else { exit(2) }
            fixture.server.route("/it", .text("thanks"))
            var request = URLRequest(url: fixture.url("/it"))
            request.httpMethod = "POST"
            var options = TransferOptions.patient
            var form = MultipartForm()
            form.add("field", "value")
            options.uploadForm = form
            _ = try await URLDataSource(request, options: options).request(on: fixture.queue).value
            let before = Self.residentByteCount()
            let peaks = Observations<Int>()
            options.onProgress = { _ in peaks.note(Self.residentByteCount()) }
            form.add("file", file: file)
            options.uploadForm = form
            _ = try await URLDataSource(request, options: options).request(on: fixture.queue).value
            let grown = (peaks.all.max() ?? before) - before
            print("300 MB: \(grown >> 10) KB above the baseline of \(before >> 10) KB")
            guard fixture.server.requests.last!.bodyByteCount > 300 << 20, grown < 60 << 20 else { exit(1) }
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
        final class Watched: Sendable {
            let log: Observations<Void>
            init(_ log: Observations<Void>) { self.log = log }
            deinit { log.note(()) }
        }
        let fixture = try TransferFixture()
        let answers: [Answer] = [
            .text("x"), .status(500), .truncated(after: 1, of: 2), .redirect(to: "/it"), .stalled,
        ]
        let gone = Observations<Void>()
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
