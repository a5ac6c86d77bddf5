public import Deferred
public import NIOCore
import NIOPosix

/// Sends `line` to a server, and returns a Deferred with the line that it answers with, on an event loop of `group`. A cancel
/// closes the connection, or has it closed as soon as it is made.
public func ask(_ line: String, of server: SocketAddress, on group: any EventLoopGroup) -> Deferred<String> {
    let answer = group.any().makePromise(of: String.self)
    let connection = ClientBootstrap(group: answer.futureResult.eventLoop)
        .channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(LineHandler(line: line, answer: answer))
            }
        }
        .connect(to: server)
    connection.whenFailure { answer.fail($0) }
    return answer.futureResult.deferred(onCancel: { connection.whenSuccess { $0.close(promise: nil) } })
}

private final class LineHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let line: String
    private let answer: EventLoopPromise<String>
    private var received = ByteBuffer()

    init(line: String, answer: EventLoopPromise<String>) { (self.line, self.answer) = (line, answer) }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: line + "\n")), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        guard let end = received.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else { return }
        answer.succeed(received.getString(at: received.readerIndex, length: end - received.readerIndex) ?? "")
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { answer.fail(ChannelError.eof) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        answer.fail(error)
        context.close(promise: nil)
    }
}
