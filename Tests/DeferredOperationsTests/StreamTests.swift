import Deferred
import DeferredTesting
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import DeferredOperations

/// Bodies that are delivered in pieces.
@Suite(.watchdog(atOnce: .few))
struct StreamTests {
    typealias Request = Deferred<StreamDataSource.Summary>

    let fixture = TransferFixture()

    /// Requests a stream of `/it`.
    private func start(
        _ answer: Answer, bufferByteCount: Int = 1 << 18, pauseByteCount: Int64 = 1 << 26,
        options: TransferOptions = .patient,
        on dispatcher: (any Dispatcher)? = nil, onPiece: (@Sendable (Data) throws -> Void)? = nil
    ) -> (source: StreamDataSource, request: Request) {
        start(
            at: fixture, answer, bufferByteCount: bufferByteCount, pauseByteCount: pauseByteCount,
            options: options, on: dispatcher, onPiece: onPiece)
    }

    private func start<Place: Fixture>(
        at fixture: Place, _ answer: Place.Served, bufferByteCount: Int = 1 << 18,
        pauseByteCount: Int64 = 1 << 26,
        options: TransferOptions = .patient,
        on dispatcher: (any Dispatcher)? = nil, onPiece: (@Sendable (Data) throws -> Void)? = nil
    ) -> (source: StreamDataSource, request: Request) {
        fixture.serve("/it", answer)
        let source = StreamDataSource(
            fixture.url(), bufferByteCount: bufferByteCount, pauseByteCount: pauseByteCount,
            options: options, session: fixture.session, on: dispatcher, onPiece: onPiece)
        // Without this, a stream that nothing reads is not kept.
        if onPiece == nil { _ = source.body }
        return (source, source.request(on: fixture.queue))
    }

    /// Sends some of a body, and no more.
    private let unfinished = StubTransport.Answer.stalled(after: 1000, of: 2000)
    private let stub = StubFixture()

    /// Requests a stream of more than its consumer takes; returns it when its transfer has paused, or received all.
    private func startLarge(
        _ byteCount: Int = 64 << 20, bufferByteCount: Int = 1 << 16, pauseByteCount: Int64 = 1 << 20,
        options: TransferOptions = .patient
    ) async throws -> (source: StreamDataSource, request: Request) {
        let started = start(
            .resource(byteCount, etag: "\"a\""), bufferByteCount: bufferByteCount,
            pauseByteCount: pauseByteCount, options: options)
        _ = try await started.source.head.value
        await fixture.untilServed()
        return started
    }

    private func collected(_ body: StreamDataSource.Body) async throws -> Data {
        var data = Data()
        for try await piece in body {
            #expect(!piece.isEmpty)
            data.append(piece)
        }
        return data
    }

    private func expectCancelled(
        _ request: Request, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        #expect(throws: CancellationError.self, sourceLocation: sourceLocation) {
            try request.currentResult?.get()
        }
    }

    // MARK: What is delivered

    @Test("Streams: a body arrives whole, as a sequence", arguments: [0, 1, 2_000_000])
    func sequence(_ byteCount: Int) async throws {
        let (source, request) = start(.pattern(byteCount))
        #expect(try await collected(source.body) == Data(Pattern.bytes(byteCount)))
        let summary = try await request.value
        #expect(summary.byteCount == byteCount && summary.response.statusCode == 200)
        #expect(try await source.head.value.url == fixture.url())
    }

    @Test("Streams: a body arrives whole, as calls on a dispatcher", arguments: [0, 1, 2_000_000])
    func calls(_ byteCount: Int) async throws {
        let (dispatcher, key) = (DispatchQueue(label: "StreamTests"), DispatchSpecificKey<Int>())
        dispatcher.setSpecific(key: key, value: 7)
        let pieces = Observations<Data>()
        let (source, request) = start(.pattern(byteCount), bufferByteCount: 1 << 16, on: dispatcher) {
            #expect(DispatchQueue.getSpecific(key: key) == 7)
            pieces.note($0)
        }
        #expect(try await request.value.byteCount == byteCount)
        #expect(pieces.all.reduce(Data(), +) == Data(Pattern.bytes(byteCount)))
        #expect(try await collected(source.body).isEmpty)
    }

    @Test("Streams: what a call throws ends the transfer, and so does a dispatcher that releases its calls")
    func endedCalls() async throws {
        struct Mine: Error {}
        let thrown = start(at: stub, unfinished) { _ in throw Mine() }.request
        await #expect(throws: Mine.self) { try await thrown.value }
        let dropped = start(at: stub, unfinished, on: DroppingDispatcher()) { _ in }.request
        await #expect(throws: DeferredError.abandoned) { try await dropped.value }
        await stub.server.waitUntilIdle()
    }

    @Test("Streams: a failure comes after the pieces before it, from the sequence, the request and the calls")
    func failures() async throws {
        for (answer, byteCount) in [
            (Answer.truncated(after: 500, of: 1000), 500), (.status(404), 0), (.hungUp, 0),
        ] {
            let (received, pieces) = (Observations<Int>(), Observations<Int>())
            let (source, request) = start(answer)
            await #expect(throws: DataSourceError.self) {
                for try await piece in source.body { received.note(piece.count) }
            }
            await #expect(throws: DataSourceError.self) { try await request.value }
            let calls = start(answer) { pieces.note($0.count) }.request
            await #expect(throws: DataSourceError.self) { try await calls.value }
            for sizes in [received, pieces] { #expect(sizes.all.reduce(0, +) == byteCount) }
        }
    }

    @Test("Streams: a source that is released unrequested ends its body")
    func released() async throws {
        let body = StreamDataSource(fixture.url(), options: .patient).body
        await #expect(throws: DeferredError.abandoned) { try await collected(body) }
    }

    @Test("Streams: a dispatcher that runs its work at once costs no stack, and delays no other transfer")
    func inlineDispatcher() async throws {
        let (byteCount, mayReturn) = (100_000, DispatchSemaphore(value: 0))
        fixture.server.route("/other", .text("fine"))
        let (others, received) = (Observations<String?>(), Observations<Int>())
        func request(_ options: TransferOptions) -> Request {
            let other = { @Sendable [fixture] in fixture.request(path: "/other") }
            return start(.pattern(byteCount), bufferByteCount: 1, options: options, on: InlineDispatcher()) {
                if received.all.isEmpty {
                    others.note(try? other().wait(timeout: .seconds(3600)).data.text)
                }
                received.note($0.count)
            }.request
        }
        var options = TransferOptions.patient
        options.validateResponse = { _ in mayReturn.wait() }
        let held = request(options)
        // All of it waits in the file, from which one byte is taken at a time.
        await fixture.untilServed()
        mayReturn.signal()
        #expect(try await held.value.byteCount == byteCount)
        #expect(received.all.reduce(0, +) == byteCount && others.all == ["fine"])
        #expect(try await request(.patient).value.byteCount == byteCount)
    }

    // MARK: Pauses

    @Test("Streams: the transfer pauses while the consumer does nothing, and that is no silence")
    func pause() async throws {
        let (clock, byteCount) = (ManualClock(), 64 << 20)
        let (source, request) = try await startLarge(
            byteCount, options: TransferOptions(silenceTimeout: .seconds(8), timer: clock))
        let received = source.metrics.received
        #expect(received > 1 << 20 && received < 32 << 20)
        for _ in 0..<100 { clock.advance(by: .seconds(1)) }
        #expect(request.currentResult == nil && source.metrics.received == received)
        #expect(try await collected(source.body) == Data(Pattern.bytes(byteCount)))
        #expect(source.metrics.received == byteCount)
        #expect(try await request.value.response.statusCode == 200)
        #expect(fixture.ranges[1] == "bytes=\(received)-")
    }

    @Test("Streams: a body that nothing reads keeps its place in the queue until a time limit")
    func unread() async throws {
        let clock = ManualClock()
        fixture.queue.maxConcurrentOperationCount = 1
        let unread = try await startLarge(options: TransferOptions(totalTimeout: .seconds(60), timer: clock))
            .request
        let next = fixture.request(.text("fine"), path: "/other")
        clock.advance(by: .seconds(59))
        #expect(unread.currentResult == nil && next.currentResult == nil)
        clock.advance(by: .seconds(1))
        await expectFailure(nil, "timed out: not done after 60 s") { try await unread.value }
        #expect(try await next.value.data.text == "fine")
    }

    @Test("Streams: several streams that wait for their consumers do not delay other transfers")
    func others() async throws {
        let streams = (0..<8).map { _ in
            start(.resource(64 << 20, etag: "\"a\""), bufferByteCount: 1, pauseByteCount: 1 << 16)
        }
        for stream in streams { _ = try await stream.source.head.value }
        #expect(try await fixture.request(.text("fine"), path: "/other").value.data.text == "fine")
        for stream in streams { stream.request.cancel() }
        await fixture.server.waitUntilIdle()
    }

    @Test("Streams: a paused transfer continues when all of the file has been taken, and not before")
    func room() throws {
        let (buffer, taken) = (StreamBuffer(limit: 4, pauseByteCount: 8), Observations<Void>())
        let rooms = Observations<Int>()
        buffer.setOnRoom { rooms.note(taken.all.count) }
        let isFull = try (0..<4).map { _ in try buffer.append(Data(count: 4), mayPause: true) }
        #expect(isFull == [false, false, true, true])
        for _ in 0..<4 { buffer.take { _ in taken.note(()) } }
        #expect(rooms.all == [3] && taken.all.count == 4)
    }

    @Test("O2: what waits for a consumer is dropped by a cancel, and stays for it after any other end")
    func ended() throws {
        for error in [CancellationError(), DeferredError.abandoned] as [any Error] {
            let (buffer, taken) = (StreamBuffer(limit: 4, pauseByteCount: 8), Observations<Bool>())
            for _ in 0..<2 { _ = try buffer.append(Data(count: 4), mayPause: false) }
            buffer.end(error)
            for _ in 0..<3 {
                buffer.take { taken.note((try? $0.get().isEmpty) ?? true) }
            }
            #expect(taken.all == (error is CancellationError ? [true, true, true] : [false, false, true]))
        }
    }

    // MARK: Cancels

    @Test(
        "O2: a cancel stops the transfer, and nothing is delivered after it",
        arguments: ["request", "operation", "loop", "task"])
    func cancelled(_ way: String) async throws {
        let (source, request) = start(at: stub, unfinished)
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
        expectCancelled(request)
        await stub.server.waitUntilIdle()
    }

    @Test(
        "O2: what an iterator has taken from the buffer is not delivered after a cancel",
        arguments: [8 << 20, 1 << 20], ["request", "task"])
    func cancelledBatch(_ byteCount: Int, _ way: String) async throws {
        let (source, request) = try await startLarge(
            byteCount, bufferByteCount: 1 << 20, pauseByteCount: 1 << 21)
        // Many pieces are in the buffer; the shorter body is there as a whole.
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
        if !isWhole { expectCancelled(request) }
    }

    @Test("O2: cancelled before it starts, the body and the head end too")
    func cancelledEarly() async throws {
        fixture.queue.isSuspended = true
        let (source, request) = start(.text("x"))
        request.cancel()
        await #expect(throws: CancellationError.self) { try await collected(source.body) }
        await #expect(throws: CancellationError.self) { try await source.head.value }
        fixture.queue.isSuspended = false
    }

    /// Keeps its jobs until a test runs them.
    ///
    /// Sound as `@unchecked Sendable`: `jobs` is accessed only under `lock`.
    private final class HeldExecutor: TaskExecutor, @unchecked Sendable {
        private let lock = NSLock()
        private var jobs: [UnownedJob] = []
        /// The jobs so far.
        let enqueued = Observations<Void>()

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
    }

    @Test("O2: an iterator's piece is not delivered after a cancel", arguments: ["request", "task"])
    func waitingIterator(_ way: String) async throws {
        let (gate, executor, pieces) = (Deferred<Void>(), HeldExecutor(), Observations<Data>())
        let (source, request) = start(at: stub, unfinished.after(gate))
        let body = source.body
        let task = Task(executorPreference: executor) {
            for try await piece in body { pieces.note(piece) }
        }
        executor.run()
        let count = executor.enqueued.all.count
        gate.resolve()
        // The piece has been taken, and the Task is to receive it.
        await executor.enqueued.wait(for: count + 1)
        if way == "request" { request.cancel() } else { task.cancel() }
        executor.run()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(pieces.all.isEmpty)
        expectCancelled(request)
    }

    @Test("O2: a cancel ends the calls, also after the whole body has arrived")
    func lateCancel() async throws {
        let (mayReturn, pieces, live) = (DispatchSemaphore(value: 0), Observations<Int>(), LeakTracker())
        let source: StreamDataSource
        let request: Request
        do {
            let captured = live.begin()
            (source, request) = start(.pattern(2_000_000), bufferByteCount: 1 << 16) {
                pieces.note(captured.returning($0.count))
                mayReturn.wait()
            }
        }
        await pieces.wait(for: 1)
        // The server has sent everything, and the transfer has received it.
        while source.metrics.ended == nil { await Task.yield() }
        request.cancel()
        expectCancelled(request)
        for _ in 0..<1000 { mayReturn.signal() }
        // The closure has been released: no more calls.
        while live.alive > 0 { await Task.yield() }
        #expect(pieces.all.count == 1)
    }
}
