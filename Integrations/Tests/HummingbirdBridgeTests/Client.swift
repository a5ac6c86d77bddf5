import Deferred
import NIOBridge
import NIOCore
import NIOPosix

/// A connection that a test opens and closes when it likes.
final class Client: Sendable {
    /// All that the server sent, once the connection is closed.
    let received: Deferred<String>
    private let channel: any Channel

    init(port: Int) async throws {
        let (received, resolver) = Deferred<String>.withResolver()
        self.received = received
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Reader(resolver))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    /// Asks for a path, and for the connection to be closed after the answer.
    func get(_ path: String) async throws {
        try await send("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    }

    func close() async throws { try await channel.close() }

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let resolver: Deferred<String>.Resolver
        private var text = ""

        init(_ resolver: Deferred<String>.Resolver) { self.resolver = resolver }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
        }
        func channelInactive(context: ChannelHandlerContext) { resolver.resolve(text) }
    }
}
