import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// The limit of a session. That it holds, and that a cancel does not wait for it, is tested with `fetch --limit-rate`.
@Suite(.watchdog(atOnce: .few))
struct TransferRateTests {
    @Test("A transfer that the limit of a session delays is not silent, whichever session delays it")
    func silence() async {
        // A process of its own: off Darwin a delay is one of all transfers of the process.
        await #expect(processExitsWith: .success) {
            let fixture = TransferFixture(serving: .pattern(100_000))
            let (clock, received) = (ManualClock(), Observations<Int64>())
            var options = TransferOptions(silenceTimeout: .seconds(8), timer: clock)
            let other = fixture.request(.stalled, path: "/other") { [options] in $1 = options }
            await fixture.server.waitForRequests(seen: 1)
            options.onProgress = { if $0.received > 0 { received.note($0.received) } }
            // The first piece takes hours.
            let delayed = URLDataSource(
                fixture.url(), options: options, session: TransferSession(bytesPerSecond: 1)
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

    @Test("A limit under 1 byte per second is an error", arguments: [0, -1, Int64.min])
    func invalidLimit(_ bytesPerSecond: Int64) async throws {
        let fixture = TransferFixture()
        let session = TransferSession(bytesPerSecond: bytesPerSecond)
        let words = "\(fixture.url()): bytesPerSecond must be 1 or more, is \(bytesPerSecond)"
        await expectFailure("invalidRequest", words) {
            try await URLDataSource(fixture.url(), session: session).request(on: fixture.queue).value
        }
        #expect(fixture.server.requests.isEmpty)
    }
}
