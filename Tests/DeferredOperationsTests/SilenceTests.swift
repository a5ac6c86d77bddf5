import Deferred
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

@testable import DeferredOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What happens to a transfer at the very moment at which it has been silent for too long.
@Suite(.timeLimit(.minutes(5)))
struct SilenceTests {
    /// A lock that calls a closure when it has been released.
    ///
    /// Sound as `@unchecked Sendable`: `pending` is accessed only under `access`.
    private final class ObservedLock: TransferLock, @unchecked Sendable {
        private let access = NSLock()
        private var pending: (thread: Thread, body: () -> Void)?

        /// Has `body` called once, when this thread has next released the lock.
        func afterNextUnlock(_ body: @escaping () -> Void) {
            access.withLock { pending = (.current, body) }
        }

        override func withLock<R>(_ body: () throws -> R) rethrows -> R {
            defer { takeDue()?() }
            return try super.withLock(body)
        }

        private func takeDue() -> (() -> Void)? {
            access.withLock {
                guard let (thread, body) = pending, thread === Thread.current else { return nil }
                pending = nil
                return body
            }
        }
    }

    /// Has mirrors, and ignores the body.
    ///
    /// Sound as `@unchecked Sendable`: `mirrors` is accessed only under the transfer's lock.
    private final class MirroredSink: TransferSink, @unchecked Sendable {
        private var mirrors: ArraySlice<URL>
        init(_ mirrors: [URL]) { self.mirrors = mirrors[...] }

        func begin(_ response: HTTPURLResponse, part: ContentRange?, announced: Int64?) -> AnswerUse {
            .body(before: 0, total: announced)
        }
        func receive(_ data: Data) {}
        func request(after error: any Error, from cause: FailureCause) -> URLRequest? {
            mirrors.popFirst().map { URLRequest(url: $0) }
        }
        func finish() {}
        func discard() {}
    }

    let fixture: TransferFixture
    private let clock = ManualClock()
    private let lock = ObservedLock()
    private let outcomes = Observations<Result<HTTPURLResponse, any Error>>()

    init() throws { fixture = try TransferFixture() }

    /// Starts a transfer that a server does not answer, and that fails of silence when the clock is next advanced.
    private func silentTransfer(mirrors: [URL] = []) async throws -> (Transfer, URLSessionTask) {
        fixture.server.route("/it", .stalled)
        var options = TransferOptions()
        options.timer = clock
        options.silenceTimeout = .seconds(8)
        let transfer = Transfer(
            URLRequest(url: fixture.url("/it")), options, .shared, into: MirroredSink(mirrors), lock: lock)
        transfer.start(requestedAt: nil) { [outcomes] result, _ in outcomes.note(result) }
        await fixture.server.waitForRequests(underWay: 1)
        for _ in 0..<7 { clock.advance(by: .seconds(1)) }
        return (transfer, try #require(lock.withLock { transfer.state.task }))
    }

    @Test("Silence: nothing is received between the decision that a transfer was silent and its failure")
    func data() async throws {
        let (transfer, task) = try await silentTransfer()
        lock.afterNextUnlock { transfer.hasReceived(Data([1]), by: task) }
        clock.advance(by: .seconds(1))
        await outcomes.wait(for: 1)
        let error = #expect(throws: DataSourceError.self) { try outcomes.all[0].get() }
        #expect("\(error!)".hasSuffix("timed out: nothing heard for 8 s"))
        #expect(transfer.metrics.firstByte == nil)
    }

    @Test("Silence: of one server uses up one mirror, also if the connection breaks at the same moment")
    func mirror() async throws {
        fixture.server.route("/b", .text("b"))
        fixture.server.route("/c", .text("c"))
        let (transfer, task) = try await silentTransfer(mirrors: [fixture.url("/b"), fixture.url("/c")])
        lock.afterNextUnlock { transfer.hasCompleted(task, error: URLError(.networkConnectionLost)) }
        clock.advance(by: .seconds(1))
        await outcomes.wait(for: 1)
        #expect(try outcomes.all[0].get().url == fixture.url("/b"))
    }

    /// A timer that runs the work of eight ticks at once, and none after that.
    private struct HastyTimer: DelayedDispatcher {
        private struct Work: DelayedWork { func cancel() {} }
        private let delays = Observations<Duration>()

        func dispatch(_ work: @escaping @Sendable () -> Void) { work() }

        func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
            delays.note(delay)
            if delays.all.count <= 8 { work() }
            return Work()
        }
    }

    @Test("Silence: before the first request has been sent leaves the mirror as the one server that is asked")
    func beforeStart() async throws {
        fixture.server.route("/it", .text("it"))
        fixture.server.route("/b", .text("b"))
        var options = TransferOptions()
        options.timer = HastyTimer()
        let source = DownloadDataSource(
            fixture.url("/it"), to: fixture.file("it"), mirrors: [fixture.url("/b")], options: options)
        let file = try await source.request(on: fixture.queue).value
        #expect(file.response?.url == fixture.url("/b"))
        #expect(fixture.server.requests.map(\.path) == ["/b"])
    }
}
