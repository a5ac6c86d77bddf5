import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

/// Cancels of a stream whose pieces have come and have not been delivered.
@Suite(.timeLimit(.minutes(5)))
struct StreamCancelTests {
    /// Keeps its jobs until a test runs them.
    ///
    /// Sound as `@unchecked Sendable`: `jobs` is accessed only under `lock`.
    private final class HeldExecutor: TaskExecutor, @unchecked Sendable {
        private let lock = NSLock()
        private var jobs: [UnownedJob] = []
        private let enqueued = Observations<Void>()

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            lock.withLock { jobs.append(job) }
            enqueued.note(())
        }

        /// Runs all jobs, also those that these enqueue.
        func run() {
            while let job = lock.withLock({ jobs.isEmpty ? nil : jobs.removeFirst() }) {
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }

        /// The number of jobs so far.
        var count: Int { enqueued.all.count }

        /// Waits until there have been so many jobs.
        func wait(for count: Int) async { await enqueued.wait(for: count) }
    }

    let fixture: TransferFixture

    init() throws { fixture = try TransferFixture() }

    @Test("O2: an iterator's piece is not delivered after a cancel", arguments: ["request", "task"])
    func waitingIterator(_ way: String) async throws {
        let (gate, executor, pieces) = (Gate(), HeldExecutor(), Observations<Data>())
        fixture.server.route("/it", .held(by: gate, then: .stalled(after: 1000, of: 2000)))
        let source = StreamDataSource(fixture.url("/it"), options: .patient)
        let request = source.request(on: fixture.queue)
        let body = source.body
        let task = Task(executorPreference: executor) {
            for try await piece in body { pieces.note(piece) }
        }
        executor.run()
        let count = executor.count
        gate.open()
        // The piece has been taken, and the Task is to receive it.
        await executor.wait(for: count + 1)
        if way == "request" { request.cancel() } else { task.cancel() }
        executor.run()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(pieces.all.isEmpty)
        #expect(throws: CancellationError.self) { try request.currentResult?.get() }
    }

    /// Notes that it has been deallocated.
    private final class Witness: Sendable {
        private let onDeinit: Observations<Void>
        init(_ onDeinit: Observations<Void>) { self.onDeinit = onDeinit }
        deinit { onDeinit.note(()) }
    }

    @Test("O2: a cancel ends the calls, also after the whole body has arrived")
    func lateCancel() async throws {
        let (mayReturn, pieces, ends) = (
            DispatchSemaphore(value: 0), Observations<Int>(), Observations<Void>()
        )
        let source: StreamDataSource
        do {
            let witness = Witness(ends)
            fixture.server.route("/it", .pattern(5_000_000))
            source = StreamDataSource(fixture.url("/it"), bufferByteCount: 1 << 16, options: .patient) {
                piece in
                withExtendedLifetime(witness) { pieces.note(piece.count) }
                mayReturn.wait()
            }
        }
        let request = source.request(on: fixture.queue)
        await pieces.wait(for: 1)
        // The server has sent everything, and the transfer has received it.
        while source.metrics.ended == nil { await Task.yield() }
        request.cancel()
        #expect(throws: CancellationError.self) { try request.currentResult?.get() }
        for _ in 0..<1000 { mayReturn.signal() }
        // The closure has been released: no more calls.
        await ends.wait(for: 1)
        #expect(pieces.all.count == 1)
    }
}
