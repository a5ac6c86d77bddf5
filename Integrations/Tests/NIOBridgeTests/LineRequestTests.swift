import Deferred
import NIOBridge
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// A request over a real connection, to a server that says when a client has connected, asked and gone.
@Suite(.timeLimit(.minutes(2))) struct LineRequestTests {
    private final class Server: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let answers: Bool
        let wasAsked = Deferred<String>()
        let hasLost = Deferred<Void>()

        init(answers: Bool) { self.answers = answers }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            wasAsked.resolve(String(buffer: unwrapInboundIn(data)))
            if answers { context.writeAndFlush(NIOAny(ByteBuffer(string: "hello\n")), promise: nil) }
        }

        func channelInactive(context: ChannelHandlerContext) { hasLost.resolve() }

        func start() async throws -> any Channel {
            try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { $0.pipeline.addHandler(self) }
                .bind(host: "127.0.0.1", port: 0).get()
        }
    }

    private let group = MultiThreadedEventLoopGroup.singleton

    @Test("NIO: a request is answered")
    func answered() async throws {
        let server = Server(answers: true)
        let channel = try await server.start()
        #expect(try await ask("who", of: channel.localAddress!, on: group).value == "hello")
        #expect(try await server.wasAsked.value == "who\n")
        try await server.hasLost.value
        try await channel.close()
    }

    @Test("NIO: a cancel of a request closes its connection, which the server sees")
    func cancelled() async throws {
        let server = Server(answers: false)
        let channel = try await server.start()
        let answer = ask("who", of: channel.localAddress!, on: group)
        _ = try await server.wasAsked.value
        answer.cancel()
        try await server.hasLost.value
        await #expect(throws: CancellationError.self) { try await answer.value }
        try await channel.close()
    }

    @Test("NIO: a time limit on the event loop closes the connection")
    func limited() async throws {
        let server = Server(answers: false)
        let channel = try await server.start()
        let answer = ask("who", of: channel.localAddress!, on: group)
            .timeout(.milliseconds(10), timer: .eventLoop(group.any()))
        await #expect(throws: DeferredError.timedOut) { try await answer.value }
        try await server.hasLost.value
        try await channel.close()
    }

    @Test("NIO: a server that is not there")
    func refused() async throws {
        let channel = try await Server(answers: false).start()
        let address = channel.localAddress!
        try await channel.close()
        await #expect(throws: (any Error).self) { try await ask("who", of: address, on: group).value }
    }
}
