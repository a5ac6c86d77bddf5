import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

/// The user's timers, cancellers and closures never run under a lock of the library.
@Suite(.timeLimit(.minutes(5)))
struct TransferTimerTests {
    let fixture = TransferFixture()

    /// A timer whose work reads the transfer's metrics when it is cancelled and when it is deallocated.
    private struct ReadingTimer: DelayedDispatcher {
        let watched: Watched

        func dispatch(_ work: @escaping @Sendable () -> Void) { DispatchQueue.global().async(execute: work) }

        func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
            watched.tick(work)
            return Work(watched: watched)
        }

        final class Work: DelayedWork {
            let watched: Watched
            init(watched: Watched) { self.watched = watched }
            func cancel() { watched.read("cancelled") }
            deinit { watched.read("deallocated") }
        }
    }

    /// Sound as `@unchecked Sendable`: the variables are touched only under `lock`.
    private final class Watched: @unchecked Sendable {
        let reads = Observations<String>()
        private let lock = NSLock()
        private var source: URLDataSource?
        private var ticks: [@Sendable () -> Void] = []

        func watch(_ source: URLDataSource?) { lock.withLock { self.source = source } }

        func read(_ event: String) {
            _ = lock.withLock { source }?.metrics
            reads.note(event)
        }

        func tick(_ work: @escaping @Sendable () -> Void) { lock.withLock { ticks.append(work) } }

        func runTicks() {
            let due = lock.withLock {
                defer { ticks = [] }
                return ticks
            }
            for work in due { work() }
        }
    }

    private func source(_ answer: Answer, _ watched: Watched) -> URLDataSource {
        fixture.server.route("/it", answer)
        let options = TransferOptions(
            silenceTimeout: .seconds(3600), totalTimeout: .seconds(3600),
            timer: ReadingTimer(watched: watched))
        let source = URLDataSource(fixture.url("/it"), options: options)
        watched.watch(source)
        return source
    }

    @Test(
        "A timer may read the metrics when it is cancelled, and when its work is deallocated",
        arguments: ["success", "failure", "cancel", "replaced"])
    func reading(_ ending: String) async throws {
        let watched = Watched()
        let answer: Answer = ending == "success" ? .text("x") : ending == "failure" ? .hungUp : .stalled
        let request = source(answer, watched).request(on: fixture.queue)
        await fixture.server.waitForRequests(seen: 1)
        if ending == "cancel" { request.cancel() }
        // The total limit stays; the tick of the silence is replaced by the next one. Running both would end
        // the transfer by the total limit.
        if ending == "replaced" { watched.runTicks() }
        _ = await request.result
        await watched.reads.wait(for: 4)
        if ending != "replaced" { #expect(watched.reads.all.count { $0 == "cancelled" } == 2) }
        watched.watch(nil)
    }

    @Test("A challenge's canceller may wait for another transfer")
    func blockingCanceller() async throws {
        fixture.server.route("/it", .status(401))
        fixture.server.route("/other", .text("fine"))
        let (asked, other) = (Deferred<Void>(), Observations<String>())
        let resolvers = Observations<Resolver<URLRequest?>>()
        var options = TransferOptions.patient
        let (queue, url) = (OperationQueue(), fixture.url("/other"))
        options.onChallenge = { _ in
            let (answer, resolver) = Deferred<URLRequest?>.withResolver(canceller: { _ in
                let page = try? URLDataSource(url, options: .patient).request(on: queue).wait(
                    timeout: .seconds(60))
                other.note(page?.data.text ?? "nothing")
            })
            // Kept, or the answer would be abandoned before the cancel (A1).
            resolvers.note(resolver)
            asked.resolve()
            return answer
        }
        let request = URLDataSource(fixture.url("/it"), options: options).request(on: fixture.queue)
        try await asked.value
        request.cancel()
        await other.wait(for: 1)
        #expect(other.all == ["fine"])
        #expect(resolvers.all.map(\.isCancelled) == [true])
    }
}
