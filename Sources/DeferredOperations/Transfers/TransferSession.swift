#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// The `URLSession` behind transfers: one for all, ``shared``, unless you want another configuration.
///
/// A session keeps connections open for reuse, and is never invalidated; what is cancelled is a single task
/// of it (O3).
///
/// The shared session keeps no cache and no credentials, and cookies only in memory. How many connections
/// there are to a host is for the operation queue to decide, or a ``DataSourceManager``.
public final class TransferSession: Sendable {
    /// The session that transfers use unless another is passed to them.
    public static let shared = TransferSession(configuration: plainConfiguration)

    private static var plainConfiguration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        return configuration
    }

    /// Tasks are made, started and cancelled here, in order, and never from a delegate call: on
    /// swift-corelibs-foundation all three wait for the queue that delegate calls come from.
    let control = DispatchQueue(label: "DeferredOperations.TransferSession")
    let router: TransferRouter
    let session: URLSession
    let pacer: TransferPacer?
    /// Why no request can be sent: a parameter is invalid.
    let flaw: String?

    /// Creates a session that is configured like ``shared`` and takes in at most so many bytes per second.
    ///
    /// ```swift
    /// let slow = TransferSession(bytesPerSecond: 100_000)
    /// DownloadDataSource(url, to: file, session: slow).request(on: queue)
    /// ```
    ///
    /// The limit is for the bodies of all its transfers together; see ``init(configuration:bytesPerSecond:)``.
    ///
    /// - Parameter bytesPerSecond: 1 or more; requests of a session with another limit fail with
    ///   ``DataSourceError/invalidRequest(_:reason:)``.
    public convenience init(bytesPerSecond: Int64) {
        self.init(configuration: Self.plainConfiguration, bytesPerSecond: bytesPerSecond)
    }

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - configuration: It is copied. The timeouts and the number of connections to a host are replaced:
    ///     ``TransferOptions`` and the operation queue decide about those.
    ///   - bytesPerSecond: The limit for what the bodies of all its transfers take together, 1 or more; nil for none. Requests
    ///     of a session with a smaller one fail with ``DataSourceError/invalidRequest(_:reason:)``. A transfer that is
    ///     delayed by this is not silent. On Linux, where one queue serves all sessions, it delays other sessions' transfers,
    ///     too.
    public convenience init(configuration: URLSessionConfiguration, bytesPerSecond: Int64? = nil) {
        let copy = configuration.copy() as? URLSessionConfiguration
        self.init(copy ?? configuration, limit: bytesPerSecond)
    }

    private init(_ configuration: URLSessionConfiguration, limit: Int64?) {
        configuration.timeoutIntervalForRequest = Self.foundationTimeout
        configuration.timeoutIntervalForResource = Self.foundationTimeout
        configuration.httpMaximumConnectionsPerHost = 10_000
        let pacer = limit.map { TransferPacer(bytesPerSecond: $0) }
        self.pacer = pacer
        flaw = limit.flatMap { $0 < 1 ? "bytesPerSecond must be 1 or more, is \($0)" : nil }
        router = TransferRouter(pacer)
        session = URLSession(configuration: configuration, delegate: router, delegateQueue: DelegateQueue())
    }

    deinit {
        // A session retains its delegate until then. Transfers retain this object, so none is running.
        session.finishTasksAndInvalidate()
    }

    /// What Foundation's own timeouts are set to, in seconds: they have a second's resolution on some
    /// platforms, count the time before there is a connection on others, and run on a clock that no test can
    /// move.
    static let foundationTimeout: TimeInterval = 7 * 24 * 60 * 60
}

/// The queue that delegate calls come on.
///
/// swift-corelibs-foundation adds an operation for every piece of a body and continues to read; if the server is
/// faster than the disk, the body accumulates in memory. Here the delegate's methods run within the call, so that
/// nothing is read meanwhile. Other platforms behave so by themselves, and use a plain serial queue.
///
/// In swift-corelibs-foundation, one queue serves all sessions of a process. So what runs here must not wait for a
/// session, nor run the user's code, nor deallocate the user's objects.
private final class DelegateQueue: OperationQueue, @unchecked Sendable {
    override init() {
        super.init()
        maxConcurrentOperationCount = 1
    }

    #if canImport(FoundationNetworking)
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
    #endif
}
