import NIOCore
import NIOEmbedded
import NIOPosix

/// swift-nio's two event loops, and how a sample runs on them.
enum EventLoops {
    /// Single-threaded and without locks or atomics of its own; used on the main thread only.
    static let embedded = EmbeddedEventLoop()
    /// One thread of NIO's own.
    static let threaded: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
}

/// Holds a loop for callbacks to capture, as they would a channel or a handler: one reference, where
/// capturing the existential itself costs NIO an allocation more.
final class LoopOwner: Sendable {
    let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }
}

extension Contender {
    /// The sample runs on the embedded loop: on this thread.
    static func embedded(
        items: Int = 1, _ body: @escaping (any EventLoop, Int, Stopwatch) throws -> Void
    ) -> Contender {
        Contender(.embedded, items: items) { iterations, stopwatch in
            try body(EventLoops.embedded, iterations, stopwatch)
        }
    }

    /// The whole sample runs on the threaded loop's own thread, so that no operation has to cross over.
    static func threaded(
        items: Int = 1, _ body: @escaping @Sendable (any EventLoop, Int, Stopwatch) throws -> Void
    ) -> Contender {
        Contender(.threaded, items: items) { iterations, stopwatch in
            let loop = EventLoops.threaded
            try loop.submit { try body(loop, iterations, stopwatch) }.wait()
        }
    }
}
