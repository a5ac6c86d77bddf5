import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

/// The limit of a session. Only lower bounds are checked: a busy machine may take any time.
///
/// Each test is a process of its own: off Darwin a delay is one of all transfers of the process.
@Suite(.timeLimit(.minutes(5)))
struct TransferRateTests {
    @Test("The limit of a session is for all its transfers together")
    func limit() async {
        await #expect(processExitsWith: .success) {
            let fixture = TransferFixture()
            fixture.server.route("/it", .pattern(100_000))
            let session = TransferSession(bytesPerSecond: 400_000)
            let start = ContinuousClock.now
            let loads = (0..<2).map { _ in
                URLDataSource(fixture.url("/it"), options: .patient, session: session).request(
                    on: fixture.queue)
            }
            let responses = try await DeferredList(loads).values().value
            #expect(ContinuousClock.now - start >= .milliseconds(499))
            #expect(responses.allSatisfy { Pattern.matches($0.data, at: 0) && $0.data.count == 100_000 })
        }
    }

    @Test("A transfer that the limit of a session delays is not silent, whichever session delays it")
    func silence() async {
        await #expect(processExitsWith: .success) {
            let fixture = TransferFixture()
            fixture.server.route("/it", .pattern(100_000))
            fixture.server.route("/other", .stalled)
            let clock = ManualClock()
            let received = Observations<Int64>()
            var options = TransferOptions(silenceTimeout: .seconds(8), timer: clock)
            let other = URLDataSource(fixture.url("/other"), options: options).request(on: fixture.queue)
            await fixture.server.waitForRequests(seen: 1)
            options.onProgress = { if $0.received > 0 { received.note($0.received) } }
            // The first piece takes hours.
            let delayed = URLDataSource(
                fixture.url("/it"), options: options, session: TransferSession(bytesPerSecond: 1)
            )
            .request(on: fixture.queue)
            await received.wait(for: 1)
            for _ in 0..<100 { clock.advance(by: .seconds(1)) }
            // A transfer that has timed out has no timer.
            #if canImport(FoundationNetworking)
            // One queue receives for all sessions.
            #expect(clock.scheduled.count == 2)
            #else
            #expect(clock.scheduled.count == 1 && delayed.currentResult == nil)
            #endif
            delayed.cancel()
            while other.currentResult == nil {
                clock.advance(by: .seconds(1))
                await Task.yield()
            }
            await expectFailure("timedOut", "nothing heard for") { try await other.value }
        }
    }

    @Test("A cancellation does not wait for the limit")
    func cancelled() async {
        await #expect(processExitsWith: .success) {
            let fixture = TransferFixture()
            fixture.server.route("/it", .pattern(100_000))
            let session = TransferSession(bytesPerSecond: 1)
            let file = fixture.file("it")
            let (received, resolver) = Deferred<Void>.withResolver()
            var options = TransferOptions.patient
            options.onProgress = { if $0.received > 0 { resolver.resolve(()) } }
            let load = DownloadDataSource(fixture.url("/it"), to: file, transfer: options, session: session)
                .request(on: fixture.queue)
            try await received.value
            load.cancel()
            await #expect(throws: CancellationError.self) { try await load.value }
            await fixture.server.waitUntilIdle()
            #expect(fixture.names.isEmpty)
        }
    }

    @Test("A limit under 1 byte per second is an error", arguments: [0, -1, Int64.min])
    func invalidLimit(_ bytesPerSecond: Int64) async throws {
        let fixture = TransferFixture()
        let session = TransferSession(bytesPerSecond: bytesPerSecond)
        let words = "\(fixture.url("/it")): bytesPerSecond must be 1 or more, is \(bytesPerSecond)"
        await expectFailure("invalidRequest", words) {
            try await URLDataSource(fixture.url("/it"), session: session).request(on: fixture.queue).value
        }
        #expect(fixture.server.requests.isEmpty)
    }
}
