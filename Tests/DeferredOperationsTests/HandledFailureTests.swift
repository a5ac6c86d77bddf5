import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

/// Failures that a reader of a body receives.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct HandledFailureTests {
    let fixture = TransferFixture()

    /// Refers to the source, so that a test can wait until it has been released.
    ///
    /// Sound as `@unchecked Sendable`: a test sets it before it waits.
    private final class Released: @unchecked Sendable {
        weak var source: StreamDataSource?
    }

    /// Collects what is reported while `body` uses a source, until that has been released.
    private func reports(
        expected: Int = 0, _ body: @escaping @Sendable (StreamDataSource) async -> Void
    ) async -> [String] {
        let (reports, released, server) = (
            Observations<String>(), Released(), fixture.url("/it").absoluteString
        )
        // Where the last reference is released is not known, so a handler for one task would miss it.
        DeferredDiagnostics.setHandler { if "\($0)".contains(server) { reports.note("\($0)") } }
        defer { DeferredDiagnostics.setHandler(nil) }
        do {
            let source = StreamDataSource(fixture.url("/it"), options: .patient)
            released.source = source
            await body(source)
        }
        while released.source != nil { await Task.yield() }
        await reports.wait(for: expected)
        return reports.all
    }

    @Test("U1: a failure that the body throws to its reader is handled for the request")
    func thrown() async {
        for (answer, pieces) in [(Answer.status(404), 0), (.truncated(after: 1000, of: 2000), 1)] {
            fixture.server.route("/it", answer)
            let seen = await reports { [fixture] source in
                let request = source.request(on: fixture.queue)
                var count = 0
                await #expect(throws: DataSourceError.self) {
                    for try await _ in source.body { count += 1 }
                }
                #expect(count == pieces)
                _ = request
            }
            #expect(seen.isEmpty)
            let dropped = await reports { [fixture] source in
                _ = source.request(on: fixture.queue, deliveringOn: .global())
                await #expect(throws: DataSourceError.self) { for try await _ in source.body {} }
            }
            #expect(dropped.isEmpty)
        }
    }

    @Test("U1: a failure that the reader receives after the request has failed and was released is handled")
    func readLate() async {
        fixture.server.route("/it", .truncated(after: 1000, of: 2000))
        let seen = await reports { [fixture] source in
            let failed = Observations<Void>()
            source.request(on: fixture.queue).always { _ in failed.note(()) }.fail { _ in }
            await failed.wait(for: 1)
            await #expect(throws: DataSourceError.self) { for try await _ in source.body {} }
        }
        #expect(seen.isEmpty)
    }

    @Test("U1: a failure that no reader receives is reported")
    func unread() async {
        fixture.server.route("/it", .status(404))
        let seen = await reports(expected: 1) { [fixture] source in
            _ = source.request(on: fixture.queue)
        }
        #expect(seen.count == 1)
    }
}
