import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Failures that a reader of a body receives.
@Suite(.serialized, .watchdog(atOnce: .few))
struct HandledFailureTests {
    let fixture = TransferFixture()

    /// Collects what is reported while `body` uses a source of `answer`, until that has been released.
    private func reports(
        of answer: Answer, expected: Int = 0, _ body: @escaping @Sendable (StreamDataSource) async -> Void
    ) async -> [String] {
        fixture.server.route("/it", answer)
        let (reports, address) = (Observations<String>(), fixture.url().absoluteString)
        // Where the last reference is released is not known, so a handler for one task would miss it.
        DeferredDiagnostics.setHandler { if "\($0)".contains(address) { reports.note("\($0)") } }
        defer { DeferredDiagnostics.setHandler(nil) }
        weak var released: StreamDataSource?
        do {
            let source = StreamDataSource(fixture.url(), options: .patient)
            released = source
            await body(source)
        }
        while released != nil { await Task.yield() }
        await reports.wait(for: expected)
        return reports.all
    }

    private let breaking = Answer.truncated(after: 1000, of: 2000)

    @Test("U1: a failure that the body throws to its reader is handled for the request, kept or dropped")
    func thrown() async {
        for (answer, pieces) in [(Answer.status(404), 0), (breaking, 1)] {
            let seen = await reports(of: answer) { [fixture] source in
                let request = source.request(on: fixture.queue)
                var count = 0
                await #expect(throws: DataSourceError.self) {
                    for try await _ in source.body { count += 1 }
                }
                #expect(count == pieces)
                _ = request
            }
            let dropped = await reports(of: answer) { [fixture] source in
                _ = source.request(on: fixture.queue, deliveringOn: .global())
                await #expect(throws: DataSourceError.self) { for try await _ in source.body {} }
            }
            #expect(seen.isEmpty && dropped.isEmpty)
        }
    }

    @Test("U1: a failure that the reader receives after the request has failed and was released is handled")
    func readLate() async {
        let seen = await reports(of: breaking) { [fixture] source in
            let failed = Observations<Void>()
            source.request(on: fixture.queue).always { _ in failed.note(()) }.fail { _ in }
            await failed.wait(for: 1)
            await #expect(throws: DataSourceError.self) { for try await _ in source.body {} }
        }
        #expect(seen.isEmpty)
    }

    @Test("U1: a failure that no reader receives is reported")
    func unread() async {
        let seen = await reports(of: .status(404), expected: 1) { [fixture] source in
            _ = source.request(on: fixture.queue)
        }
        #expect(seen.count == 1)
    }
}
