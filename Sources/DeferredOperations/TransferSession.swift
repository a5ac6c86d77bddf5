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
    /// The session that transfers use unless they are given another.
    public static let shared: TransferSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        return TransferSession(configuration: configuration)
    }()

    /// Tasks are made, started and cancelled here, in order, and never from a delegate call: on
    /// swift-corelibs-foundation all three wait for the queue that delegate calls come from.
    let control = DispatchQueue(label: "DeferredOperations.TransferSession")
    let router: TransferRouter
    let session: URLSession

    /// A session of its own.
    ///
    /// - Parameter configuration: As you want it, apart from the timeouts and the number of connections to a
    ///   host, which ``TransferOptions`` and the operation queue decide.
    public init(configuration: URLSessionConfiguration) {
        configuration.timeoutIntervalForRequest = Self.foundationTimeout
        configuration.timeoutIntervalForResource = Self.foundationTimeout
        configuration.httpMaximumConnectionsPerHost = 10_000
        router = TransferRouter()
        session = URLSession(configuration: configuration, delegate: router, delegateQueue: DelegateQueue())
    }

    /// What Foundation's own timeouts are set to, in seconds: they have a second's resolution on some
    /// platforms, count the time before there is a connection on others, and run on a clock that no test can
    /// move.
    static let foundationTimeout: TimeInterval = 7 * 24 * 60 * 60
}

/// The queue that delegate calls come on.
///
/// swift-corelibs-foundation adds an operation for every piece of a body and goes on reading; with a server
/// that is faster than the disk, the body piles up in memory. Run within the call instead, a delegate that is
/// busy holds up the reading. Other platforms do that by themselves, and get a plain serial queue.
///
/// What runs here must neither wait for the session nor run a user's code.
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
