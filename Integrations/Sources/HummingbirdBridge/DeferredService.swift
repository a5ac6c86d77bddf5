public import Deferred
public import ServiceLifecycle

/// Work of a program that is to end in order: a service that runs until `work` is settled.
///
/// ```swift
/// let jobs = DeferredQueue<Job>()
/// let worker = jobs.run { job in perform(job) }
/// application.addServices(DeferredService(worker, onGracefulShutdown: { jobs.finish() }))
/// ```
///
/// On a graceful shutdown the queue takes no further job, and the program ends when those in it are done. Where the service
/// group has waited long enough (`maximumGracefulShutdownDuration`), it cancels the Task that runs this, and so the work.
public struct DeferredService: Service {
    private let work: Deferred<Void>
    private let onGracefulShutdown: @Sendable () -> Void

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - work: Is in progress, or waits for something to do.
    ///   - onGracefulShutdown: Asks `work` to end, on the thread that begins the shutdown.
    public init(_ work: Deferred<Void>, onGracefulShutdown: @escaping @Sendable () -> Void) {
        (self.work, self.onGracefulShutdown) = (work, onGracefulShutdown)
    }

    /// Returns at the shutdown, when the work has ended; throws its error.
    public func run() async throws {
        try await withGracefulShutdownHandler {
            try await work.value
        } onGracefulShutdown: {
            onGracefulShutdown()
        }
        // A service that ends of its own accord is a fault to its group; work that is done is none.
        try await gracefulShutdown()
    }
}
