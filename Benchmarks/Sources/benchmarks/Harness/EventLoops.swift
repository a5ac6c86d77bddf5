#if Peers
import NIOCore
import NIOEmbedded
import NIOPosix

/// The two event loops of swift-nio that samples run on.
enum EventLoops {
    /// Single-threaded, without locks or atomics; used on the main thread only.
    static let embedded = EmbeddedEventLoop()
    /// An event loop with a thread of its own.
    static let threaded: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
}

/// Retains a loop for callbacks to capture, as they would capture a channel or a handler: one reference.
/// Capturing the existential itself costs NIO one more allocation.
final class LoopOwner: Sendable {
    let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }
}

extension Contender {
    /// Runs the sample on the embedded loop, on this thread.
    static func embedded(
        items: Int = 1, _ body: @escaping (any EventLoop, Int, Stopwatch) throws -> Void
    ) -> Contender {
        Contender(.embedded, items: items) { iterations, stopwatch in
            try body(EventLoops.embedded, iterations, stopwatch)
        }
    }

    /// Runs the whole sample on the thread of the threaded loop, so that no operation has to change threads.
    static func threaded(
        items: Int = 1, _ body: @escaping @Sendable (any EventLoop, Int, Stopwatch) throws -> Void
    ) -> Contender {
        Contender(.threaded, items: items) { iterations, stopwatch in
            let loop = EventLoops.threaded
            try loop.submit { try body(loop, iterations, stopwatch) }.wait()
        }
    }
}
#endif
