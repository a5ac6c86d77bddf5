import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

/// Failures that a reader of a body receives.
@Suite(.timeLimit(.minutes(20)))
struct HandledFailureTests {
    let fixture: TransferFixture

    init() throws { fixture = try TransferFixture() }

    /// Collects what is reported while `body` runs and until the operations have been released.
    private func reports(_ body: @escaping @Sendable () async -> Void) async -> [String] {
        let reports = Observations<String>()
        await DeferredDiagnostics.withHandler({ reports.note("\($0)") }) {
            await body()
            await fixture.server.waitUntilIdle()
            fixture.queue.waitUntilFinished()
        }
        return reports.all
    }

    @Test(
        "U1: a failure that the body throws to its reader is handled for the request, whether it is still referred to"
    )
    func thrown() async {
        for (answer, pieces) in [(Answer.status(404), 0), (.truncated(after: 1000, of: 2000), 1)] {
            fixture.server.route("/it", answer)
            let seen = await reports { [fixture] in
                let source = StreamDataSource(fixture.url("/it"), options: .patient)
                let request = source.request(on: fixture.queue)
                var count = 0
                await #expect(throws: DataSourceError.self) {
                    for try await _ in source.body { count += 1 }
                }
                #expect(count == pieces)
                _ = request
            }
            #expect(seen.isEmpty)
            let dropped = await reports { [fixture] in
                let source = StreamDataSource(fixture.url("/it"), options: .patient)
                _ = source.request(on: fixture.queue, deliveringOn: .global())
                await #expect(throws: DataSourceError.self) { for try await _ in source.body {} }
            }
            #expect(dropped.isEmpty)
        }
    }

    @Test("U1: a failure that the reader receives after the request has failed and was released is handled")
    func readLate() async {
        fixture.server.route("/it", .truncated(after: 1000, of: 2000))
        let seen = await reports { [fixture] in
            let source = StreamDataSource(fixture.url("/it"), options: .patient)
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
        let seen = await reports { [fixture] in
            let source = StreamDataSource(fixture.url("/it"), options: .patient)
            _ = source.request(on: fixture.queue)
            fixture.queue.waitUntilFinished()
        }
        #expect(seen.count == 1)
    }
}

extension OperationQueue {
    /// Waits, also in an asynchronous function.
    func waitUntilFinished() { waitUntilAllOperationsAreFinished() }
}
