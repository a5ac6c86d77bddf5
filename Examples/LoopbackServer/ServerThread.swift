#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A thread that can be joined.
struct ServerThread: @unchecked Sendable {
    // Sound as `@unchecked Sendable`: a `pthread_t` is an opaque identifier that is copied and never written
    // to.
    private let thread: pthread_t

    /// Starts a thread that runs `body`; returns nil if the system cannot create another.
    init?(_ body: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Work(body))
        #if canImport(Darwin)
        var started: pthread_t?
        let status = pthread_create(&started, nil, { Self.run($0) }, context.toOpaque())
        #else
        var started = pthread_t()
        let status = pthread_create(&started, nil, { Self.run($0!) }, context.toOpaque())
        #endif
        guard status == 0 else {
            context.release()
            return nil
        }
        #if canImport(Darwin)
        guard let started else { return nil }
        #endif
        thread = started
    }

    /// Waits until the thread has ended. Must be called once.
    func join() {
        pthread_join(thread, nil)
    }

    private static func run(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
        return nil
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
