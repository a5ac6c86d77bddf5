public import Deferred
public import NIOCore

/// An event loop as a place where closures run, and as a timer: `on: .eventLoop(loop)`, `timer: .eventLoop(loop)`.
///
/// ```swift
/// let reply = answer.timeout(.seconds(5), timer: .eventLoop(channel.eventLoop))
/// reply.done(on: .eventLoop(channel.eventLoop)) { channel.writeAndFlush($0, promise: nil) }
/// ```
public struct EventLoopDispatcher: DelayedDispatcher {
    private let eventLoop: any EventLoop

    /// Creates a dispatcher for an event loop.
    public init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Runs `work` on the event loop; later, also if this is called there.
    public func dispatch(_ work: @escaping @Sendable () -> Void) { eventLoop.execute(work) }

    /// Runs `work` on the event loop after `delay`.
    public func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        Timer(task: eventLoop.scheduleTask(in: TimeAmount(max(delay, .zero)), work))
    }

    /// The time of the event loop's clock, which a test may advance.
    public var elapsed: Duration { .nanoseconds(eventLoop.now.uptimeNanoseconds) }

    private struct Timer: DelayedWork {
        let task: Scheduled<Void>
        func cancel() { task.cancel() }
    }
}

extension Dispatcher where Self == EventLoopDispatcher {
    /// Returns a dispatcher for an event loop.
    public static func eventLoop(_ eventLoop: any EventLoop) -> Self { EventLoopDispatcher(eventLoop) }
}
