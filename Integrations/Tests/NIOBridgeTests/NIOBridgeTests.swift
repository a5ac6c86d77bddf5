import Deferred
import DeferredTesting
import NIOBridge
import NIOCore
import NIOEmbedded
import NIOPosix
import Synchronization
import Testing

@Suite struct NIOBridgeTests {
    struct Failed: Error {}

    private let loop = EmbeddedEventLoop()

    @Test("NIO: a future becomes a Deferred, with its value or its error")
    func fromFuture() throws {
        #expect(try loop.makeSucceededFuture(1).deferred().currentResult?.get() == 1)
        let promise = loop.makePromise(of: Int.self)
        let deferred = promise.futureResult.deferred()
        #expect(!deferred.isSettled)
        promise.fail(Failed())
        #expect(throws: Failed.self) { try deferred.currentResult?.get() }
    }

    @Test("NIO: a Deferred becomes a future, with its value or its error")
    func toFuture() throws {
        let (deferred, resolver) = Deferred<Int>.withResolver()
        let future = deferred.map { $0 + 1 }.future(on: loop)
        resolver.resolve(1)
        #expect(try future.wait() == 2)
        #expect(throws: Failed.self) { try Deferred<Int>.rejected(Failed()).future(on: loop).wait() }
    }

    @Test("NIO: a cancel stops the work, and drops the late result")
    func cancels() throws {
        let promise = loop.makePromise(of: Int.self)
        let deferred = promise.futureResult.deferred(onCancel: { promise.fail(ChannelError.alreadyClosed) })
        deferred.cancel()
        #expect(throws: CancellationError.self) { try deferred.currentResult?.get() }
    }

    @Test("NIO: a cancel closes the channel of the request")
    func closesChannel() throws {
        let channel = EmbeddedChannel(loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        let answer = loop.makePromise(of: String.self)
        channel.closeFuture.whenComplete { _ in answer.fail(ChannelError.eof) }
        let closing = NIOLoopBound(channel, eventLoop: loop)
        let deferred = answer.futureResult.deferred(onCancel: { closing.value.close(promise: nil) })
        #expect(channel.isActive)
        deferred.cancel()
        loop.run()
        #expect(!channel.isActive)
        #expect(throws: CancellationError.self) { try deferred.currentResult?.get() }
    }

    @Test("NIO: an event loop is a timer, whose work can be cancelled")
    func timer() throws {
        let embedded = loop
        let limited = Deferred<Int>.never().timeout(.seconds(5), timer: .eventLoop(embedded))
        embedded.advanceTime(by: .seconds(4))
        #expect(!limited.isSettled)
        embedded.advanceTime(by: .seconds(1))
        #expect(throws: DeferredError.timedOut) { try limited.currentResult?.get() }
        let late = Deferred.after(.seconds(5), timer: .eventLoop(embedded), value: 1)
        late.cancel()
        embedded.advanceTime(by: .seconds(9))
        #expect(throws: CancellationError.self) { try late.currentResult?.get() }
    }

    @Test("NIO: work at intervals goes by the event loop's clock")
    func intervals() throws {
        let embedded = loop
        let runs = Mutex(0)
        let work = RepeatingWork(every: .seconds(10), timer: .eventLoop(embedded)) {
            runs.withLock { $0 += 1 }
        }
        for _ in 0..<6 { embedded.advanceTime(by: .seconds(5)) }
        // At 0, 10, 20 and 30 seconds.
        #expect(runs.withLock { $0 } == 4)
        work.cancel()
    }

    @Test("NIO: a callback runs on the event loop that it names")
    func place() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let isThere = try await Deferred.resolved(1).map(on: .eventLoop(loop)) { _ in loop.inEventLoop }.value
        #expect(isThere)
    }

    @Test("NIO: an event loop that is shut down fails what it does not run")
    func shutDown() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let limited = Deferred<Int>.after(.seconds(3600), timer: .eventLoop(loop), value: 1)
        try await group.shutdownGracefully()
        await #expect(throws: DeferredError.abandoned) { try await limited.value }
    }
}
