import Deferred
import Foundation
import LoopbackServer
import Testing

@testable import DeferredOperations

/// Streams that continue after a pause before the head of their answer has been delivered.
///
/// On Linux the rest of the body is another answer, a 206.
@Suite(.timeLimit(.minutes(5)))
struct StreamPauseTests {
    /// Runs a job on the thread that makes it ready: here the one that delivers the pieces.
    private final class InlineExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    let fixture = TransferFixture()
    private let byteCount = 8 << 20

    private func source(_ options: TransferOptions) -> StreamDataSource {
        fixture.server.route("/it", .resource(byteCount, etag: "\"a\""))
        return StreamDataSource(
            fixture.url("/it"), bufferByteCount: 1 << 16, pauseByteCount: 1 << 20, options: options)
    }

    /// Starts a consumer that is waiting for its first piece when this returns.
    private func reading(_ body: StreamDataSource.Body) -> Task<Data, any Error> {
        Task(executorPreference: InlineExecutor()) {
            var data = Data()
            for try await piece in body { data.append(piece) }
            return data
        }
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
                buffer.take { if case .end = $0 { taken.note(true) } else { taken.note(false) } }
            }
            #expect(taken.all == (error is CancellationError ? [true, true, true] : [false, false, true]))
        }
    }

    @Test("Streams: the rest of a body is not validated again, however early a pause ends")
    func validatedOnce() async throws {
        struct NotWhole: Error {}
        let (mayReturn, statuses) = (DispatchSemaphore(value: 0), Observations<Int>())
        var options = TransferOptions.patient
        options.validateResponse = { response in
            statuses.note(response.statusCode)
            guard response.statusCode == 200 else { throw NotWhole() }
            mayReturn.wait()
        }
        let source = source(options)
        let request = source.request(on: fixture.queue)
        // It takes all pieces, and thereby continues the transfer, while the accepted answer is being delivered.
        let body = reading(source.body)
        await fixture.untilServed()
        mayReturn.signal()
        #expect(try await body.value == Data(Pattern.bytes(byteCount)))
        #expect(try await request.value.response.statusCode == 200)
        #expect(statuses.all == [200])
    }

    @Test("Streams: the head is that of the first answer, however early a pause ends")
    func firstHead() async throws {
        let (mayReturn, isFirst) = (DispatchSemaphore(value: 0), Observations<Void>())
        var options = TransferOptions.patient
        // The head is delivered on the same queue.
        options.onProgress = { _ in
            guard isFirst.all.isEmpty else { return }
            isFirst.note(())
            mayReturn.wait()
        }
        let source = source(options)
        let request = source.request(on: fixture.queue)
        await isFirst.wait(for: 1)
        await fixture.untilServed()
        let body = reading(source.body)
        await fixture.server.waitForRequests(seen: 2)
        mayReturn.signal()
        #expect(try await source.head.value.statusCode == 200)
        #expect(try await body.value == Data(Pattern.bytes(byteCount)))
        #expect(try await request.value.response.statusCode == 200)
    }
}
