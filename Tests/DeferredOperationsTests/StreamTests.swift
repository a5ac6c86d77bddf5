import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Bodies that are delivered in pieces.
@Suite(.timeLimit(.minutes(5)))
struct StreamTests {
    let fixture = TransferFixture()

    private func source(
        _ answer: Answer, bufferByteCount: Int = 1 << 18, pauseByteCount: Int64 = 1 << 26,
        options: TransferOptions = .patient,
        on dispatcher: (any Dispatcher)? = nil, onPiece: (@Sendable (Data) throws -> Void)? = nil
    ) -> StreamDataSource {
        fixture.server.route("/it", answer)
        return StreamDataSource(
            fixture.url("/it"), bufferByteCount: bufferByteCount, pauseByteCount: pauseByteCount,
            options: options, on: dispatcher,
            onPiece: onPiece)
    }

    private func collected(_ body: StreamDataSource.Body) async throws -> Data {
        var data = Data()
        for try await piece in body {
            #expect(!piece.isEmpty)
            data.append(piece)
        }
        return data
    }

    @Test("Streams: a body arrives whole, as a sequence", arguments: [0, 1, 5_000_000])
    func sequence(_ byteCount: Int) async throws {
        let source = source(.pattern(byteCount))
        let request = source.request(on: fixture.queue)
        #expect(try await collected(source.body) == Data(Pattern.bytes(byteCount)))
        let summary = try await request.value
        #expect(summary.byteCount == byteCount && summary.response.statusCode == 200)
        #expect(try await source.head.value.url == fixture.url("/it"))
    }

    @Test("Streams: a body arrives whole, as calls on a dispatcher", arguments: [0, 1, 5_000_000])
    func calls(_ byteCount: Int) async throws {
        let (dispatcher, key) = (DispatchQueue(label: "StreamTests"), DispatchSpecificKey<Int>())
        dispatcher.setSpecific(key: key, value: 7)
        let pieces = Observations<Data>()
        let source = source(.pattern(byteCount), bufferByteCount: 1 << 16, on: dispatcher) { piece in
            #expect(DispatchQueue.getSpecific(key: key) == 7)
            pieces.note(piece)
        }
        let summary = try await source.request(on: fixture.queue).value
        #expect(pieces.all.reduce(Data(), +) == Data(Pattern.bytes(byteCount)))
        #expect(summary.byteCount == byteCount)
        #expect(try await collected(source.body).isEmpty)
    }

    @Test("Streams: what a call throws ends the transfer, and so does a dispatcher that releases its calls")
    func endedCalls() async throws {
        struct Mine: Error {}
        let thrown = source(unfinished) { _ in throw Mine() }.request(on: fixture.queue)
        await #expect(throws: Mine.self) { try await thrown.value }
        let dropped = source(unfinished, on: DroppingDispatcher()) { _ in }.request(on: fixture.queue)
        await #expect(throws: DeferredError.abandoned) { try await dropped.value }
        await fixture.server.waitUntilIdle()
    }

    @Test("Streams: a dispatcher that runs its work at once costs no stack, and delays no other transfer")
    func inlineDispatcher() async throws {
        let (byteCount, mayReturn) = (100_000, DispatchSemaphore(value: 0))
        fixture.server.route("/other", .text("fine"))
        let (other, others, received) = (fixture.url("/other"), Observations<String?>(), Observations<Int>())
        func source(_ options: TransferOptions) -> StreamDataSource {
            self.source(
                .pattern(byteCount), bufferByteCount: 1, options: options, on: InlineDispatcher()
            ) { piece in
                if received.all.isEmpty {
                    let request = URLDataSource(other, options: .patient).request(on: OperationQueue())
                    others.note(try? request.wait(timeout: .seconds(300)).data.text)
                }
                received.note(piece.count)
            }
        }
        var options = TransferOptions.patient
        options.validateResponse = { _ in mayReturn.wait() }
        let request = source(options).request(on: fixture.queue)
        // All of it waits in the file, from which one byte is taken at a time.
        await fixture.untilServed()
        mayReturn.signal()
        #expect(try await request.value.byteCount == byteCount)
        #expect(received.all.reduce(0, +) == byteCount && others.all == ["fine"])
        #expect(try await source(.patient).request(on: fixture.queue).value.byteCount == byteCount)
    }

    /// Sends some of a body, and no more.
    private let unfinished = Answer.stalled(after: 1000, of: 2000)

    @Test("Streams: the transfer pauses while the consumer does nothing, and that is no silence")
    func pause() async throws {
        let clock = ManualClock()
        let options = TransferOptions(silenceTimeout: .seconds(8), timer: clock)
        let byteCount = 64 << 20
        let source = source(
            .resource(byteCount, etag: "\"a\""), bufferByteCount: 1 << 16, pauseByteCount: 1 << 20,
            options: options)
        let request = source.request(on: fixture.queue)
        _ = try await source.head.value
        await fixture.untilServed()
        let received = source.metrics.received
        #expect(received > 1 << 20 && received < 32 << 20)
        for _ in 0..<100 { clock.advance(by: .seconds(1)) }
        #expect(request.currentResult == nil && source.metrics.received == received)
        #expect(try await collected(source.body) == Data(Pattern.bytes(byteCount)))
        #expect(source.metrics.received == byteCount)
        #expect(try await request.value.response.statusCode == 200)
        let ranges = fixture.server.requests.map { $0[header: "Range"] }
        #expect(ranges[1] == "bytes=\(received)-")
    }

    @Test("Streams: a body that nothing reads keeps its place in the queue until a time limit")
    func unread() async throws {
        let clock = ManualClock()
        let options = TransferOptions(totalTimeout: .seconds(60), timer: clock)
        fixture.queue.maxConcurrentOperationCount = 1
        fixture.server.route("/other", .text("fine"))
        func request() -> (Deferred<StreamDataSource.Summary>, head: Deferred<HTTPURLResponse>) {
            let source = source(
                .resource(64 << 20, etag: "\"a\""), bufferByteCount: 1 << 16, pauseByteCount: 1 << 20,
                options: options)
            _ = source.body
            return (source.request(on: fixture.queue), source.head)
        }
        let (unread, head) = request()
        _ = try await head.value
        await fixture.untilServed()
        let next = URLDataSource(fixture.url("/other"), options: .patient).request(on: fixture.queue)
        clock.advance(by: .seconds(59))
        #expect(unread.currentResult == nil && next.currentResult == nil)
        clock.advance(by: .seconds(1))
        await expectFailure(nil, "timed out: not done after 60 s") { try await unread.value }
        #expect(try await next.value.data.text == "fine")
    }

    @Test(
        "O2: a cancel stops the transfer, and nothing is delivered after it",
        arguments: ["request", "operation", "loop", "task"])
    func cancelled(_ way: String) async throws {
        let source = source(unfinished)
        let request = source.request(on: fixture.queue)
        if way == "loop" {
            for try await _ in source.body { break }
        } else if way == "task" {
            let body = source.body
            let task = Task { for try await _ in body {} }
            _ = try await source.head.value
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        } else {
            var iterator = source.body.makeAsyncIterator()
            _ = try await iterator.next()
            if way == "request" { request.cancel() } else { source.cancel() }
            await #expect(throws: CancellationError.self) {
                while try await iterator.next() != nil {}
            }
        }
        #expect(throws: CancellationError.self) { try request.currentResult?.get() }
        await fixture.server.waitUntilIdle()
    }

    @Test(
        "O2: what an iterator has taken from the buffer is not delivered after a cancel",
        arguments: [8 << 20, 1 << 20], ["request", "task"])
    func cancelledBatch(_ byteCount: Int, _ way: String) async throws {
        let source = source(
            .resource(byteCount, etag: "\"a\""), bufferByteCount: 1 << 20, pauseByteCount: 1 << 21)
        let request = source.request(on: fixture.queue)
        _ = try await source.head.value
        // Many pieces are in the buffer; the shorter body is there as a whole.
        await fixture.untilServed()
        let isWhole = byteCount == 1 << 20
        if isWhole { _ = try await request.value }
        let body = source.body
        let rest = Task {
            var iterator = body.makeAsyncIterator()
            let first = try await iterator.next()
            #expect(first!.count < 1 << 20)
            if way == "request" { request.cancel() } else { withUnsafeCurrentTask { $0?.cancel() } }
            return try await iterator.next()
        }
        // A part is not taken for the whole, unless the request was cancelled after its success.
        if isWhole, way == "request" { return _ = try await rest.value }
        await #expect(throws: CancellationError.self) { try await rest.value }
        if !isWhole { #expect(throws: CancellationError.self) { try request.currentResult?.get() } }
    }

    @Test("O2: cancelled before it starts, the body and the head end too")
    func cancelledEarly() async throws {
        fixture.queue.isSuspended = true
        let source = source(.text("x"))
        let request = source.request(on: fixture.queue)
        request.cancel()
        await #expect(throws: CancellationError.self) { try await collected(source.body) }
        await #expect(throws: CancellationError.self) { try await source.head.value }
        fixture.queue.isSuspended = false
    }

    @Test("Streams: a failure comes after the pieces before it, from the sequence, the request and the calls")
    func failures() async throws {
        for (answer, byteCount) in [
            (Answer.truncated(after: 500, of: 1000), 500), (.status(404), 0), (.hungUp, 0),
        ] {
            let (source, received, pieces) = (source(answer), Observations<Int>(), Observations<Int>())
            let request = source.request(on: fixture.queue)
            await #expect(throws: DataSourceError.self) {
                for try await piece in source.body { received.note(piece.count) }
            }
            await #expect(throws: DataSourceError.self) { try await request.value }
            let calls = self.source(answer) { pieces.note($0.count) }.request(on: fixture.queue)
            await #expect(throws: DataSourceError.self) { try await calls.value }
            for sizes in [received, pieces] { #expect(sizes.all.reduce(0, +) == byteCount) }
        }
    }

    @Test("Streams: a source that is released unrequested ends its body")
    func released() async throws {
        let body = source(.text("x")).body
        await #expect(throws: DeferredError.abandoned) { try await collected(body) }
    }

    @Test("Streams: several streams that wait for their consumers do not delay other transfers")
    func others() async throws {
        fixture.server.route("/large", .resource(64 << 20, etag: "\"a\""))
        let streams = (0..<8).map { _ in
            StreamDataSource(
                fixture.url("/large"), bufferByteCount: 1, pauseByteCount: 1 << 16, options: .patient)
        }
        let requests = streams.map { $0.request(on: fixture.queue) }
        for stream in streams { _ = try await stream.head.value }
        #expect(try await fixture.load(.text("fine")).data.text == "fine")
        for request in requests { request.cancel() }
        await fixture.server.waitUntilIdle()
    }

    // MARK: Cancels of pieces that have come and have not been delivered

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
