#if canImport(FoundationNetworking)
internal import Foundation
// Requests and answers are in the names of this module: who uses it, and its other files, need no import for them.
@_exported public import FoundationNetworking
#else
public import Foundation
#endif

/// The `URLSession` behind transfers: one for all, ``shared``, unless you want another configuration.
///
/// A session keeps connections open for reuse, and is never invalidated; what is cancelled is a single task
/// of it.
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
    /// How many delegate's calls are delayed now that keep its transfers from receiving anything: they are not silent.
    let delayedCalls: Locked<Int>
    /// Why no request can be sent: a parameter is invalid.
    let fault: String?

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
    ///   - bytesPerSecond: The limit for what the bodies of all its transfers take together, 1 or more; nil
    ///     for none. Requests of a session with a smaller one fail with
    ///     ``DataSourceError/invalidRequest(_:reason:)``. A transfer that is delayed by this is not silent.
    ///     On Linux, where one queue serves all sessions, it delays other sessions' transfers, too.
    public init(configuration: URLSessionConfiguration, bytesPerSecond: Int64? = nil) {
        let configuration = configuration.copy() as? URLSessionConfiguration ?? configuration
        configuration.timeoutIntervalForRequest = Self.foundationTimeout
        configuration.timeoutIntervalForResource = Self.foundationTimeout
        configuration.httpMaximumConnectionsPerHost = 10_000
        let delayedCalls = Self.delayedCalls
        self.delayedCalls = delayedCalls
        fault = bytesPerSecond.flatMap { $0 < 1 ? "bytesPerSecond must be 1 or more, is \($0)" : nil }
        router = TransferRouter(
            bytesPerSecond.map { TransferPacer(bytesPerSecond: $0, counting: delayedCalls) })
        let queue = DelegateQueue()
        queue.maxConcurrentOperationCount = 1
        session = URLSession(configuration: configuration, delegate: router, delegateQueue: queue)
    }

    deinit {
        // A session retains its delegate until then. Transfers retain this object, so none is running.
        session.finishTasksAndInvalidate()
    }

    /// Returns a task that sends a request as it is.
    func task(for request: URLRequest) -> URLSessionTask {
        var request = request
        request.timeoutInterval = Self.foundationTimeout
        request.url = request.url?.asSent
        guard let body = request.httpBodyStream as? BodyStream else { return session.dataTask(with: request) }
        #if canImport(FoundationNetworking)
        // libcurl sends a stream in chunks, also if there is a `Content-Length`, unless there is a header of this name.
        // One without a value it leaves out. Foundation adds a type of its own to a POST of a stream.
        request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
        if case .file = body.source, request.value(forHTTPHeaderField: "Content-Type") == nil {
            request.setValue(" ", forHTTPHeaderField: "Content-Type")
        }
        return session.dataTask(with: request)
        #else
        // A stream of a class of its own cannot be sent there, nor does it have to: a file is no danger, and a length
        // that is wrong is found.
        request.httpBodyStream = nil
        switch body.source {
        case .file(let file):
            return session.uploadTask(with: request, fromFile: URL(fileURLWithPath: file.path))
        case .stream(let stream):
            request.httpBodyStream = stream
            return session.dataTask(with: request)
        }
        #endif
    }

    #if canImport(FoundationNetworking)
    /// One queue serves all sessions of a process, so that a delay is one of all of them.
    private static let delayedCalls = Locked(0)
    #else
    private static var delayedCalls: Locked<Int> { Locked(0) }
    #endif

    /// What Foundation's own timeouts are set to, in seconds: they have a second's resolution on some
    /// platforms, count the time before there is a connection on others, and run on a clock that no test can
    /// move.
    static let foundationTimeout: TimeInterval = 7 * 24 * 60 * 60
}

// Sound as `@unchecked Sendable`: it adds no properties to a thread-safe class.
/// The queue that delegate calls come on.
///
/// swift-corelibs-foundation adds an operation for every piece of a body and continues to read; if the server is
/// faster than the disk, the body accumulates in memory. Here the delegate's methods run within the call, so that
/// nothing is read meanwhile. Other platforms behave so by themselves, and use a plain serial queue.
///
/// In swift-corelibs-foundation, one queue serves all sessions of a process. So what runs here must not wait for a
/// session, nor run the user's code, nor deallocate the user's objects.
private final class DelegateQueue: OperationQueue, @unchecked Sendable {
    #if canImport(FoundationNetworking)
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
    #endif
}

/// Limits how many bytes of bodies a session takes in per second, over all its transfers.
///
/// The delegate's call is delayed after each piece of a body for as long as the piece takes at that rate.
/// Nothing is read from the network meanwhile, so that TCP slows the servers down, and no memory is used.
final class TransferPacer: Sendable {
    private let bytesPerSecond: Double
    /// When the bytes taken so far are due at the rate.
    private let due = Locked(ContinuousClock.now)
    private let delayedCalls: Locked<Int>

    /// How often a delayed call checks whether its transfer is still running, in seconds.
    private static let checkInterval = 0.05

    init(bytesPerSecond: Int64, counting delayedCalls: Locked<Int>) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        self.delayedCalls = delayedCalls
    }

    /// Calls `receive` with `byteCount` bytes that have arrived, and returns when they are due, or when
    /// `isWanted` returns false.
    func pace(_ byteCount: Int, while isWanted: () -> Bool, _ receive: () -> Void) {
        delayedCalls.withLock { $0 += 1 }
        defer { delayedCalls.withLock { $0 -= 1 } }
        receive()
        let end = due.withLock { due in
            due = max(due, .now) + .seconds(Double(byteCount) / bytesPerSecond)
            return due
        }
        while case let left = (end - .now) / .seconds(1), left > 0, isWanted() {
            Thread.sleep(forTimeInterval: min(left, Self.checkInterval))
        }
    }
}

/// The delegate of a session: passes each call to the transfer whose task it is about.
///
/// It has a table of transfers because swift-corelibs-foundation ignores a task's own delegate.
final class TransferRouter: NSObject, URLSessionDataDelegate {
    private let transfers = Locked<[Int: (transfer: Transfer, round: Int)]>([:])
    private let pacer: TransferPacer?

    init(_ pacer: TransferPacer?) { self.pacer = pacer }

    func add(_ transfer: Transfer, _ round: Int, for task: URLSessionTask) {
        transfers.withLock { $0[task.taskIdentifier] = (transfer, round) }
    }

    private func transfer(of task: URLSessionTask) -> (transfer: Transfer, round: Int)? {
        transfers.withLock { $0[task.taskIdentifier] }
    }

    /// Passes on the end of a task. Further calls about it are ignored.
    private func complete(_ task: URLSessionTask, _ response: URLResponse?, _ error: (any Error)?) {
        let ended = transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        ended?.transfer.complete(response as? HTTPURLResponse, error, of: ended?.round ?? 0)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // Foundation would drop the body of a 307, keep credentials, and misread a relative location:
        // `Transfer` makes the next request itself, from this answer.
        #if canImport(FoundationNetworking)
        if let (transfer, round) = transfer(of: task),
            transfer.takesRedirect(response, of: round, deliver: { completionHandler(nil) })
        {
            return
        }
        // The whole answer has been read, so this is taken as the end of the task. The handler is not called:
        // with a task that is being cancelled at the same time, swift-corelibs-foundation ends the process
        // for it.
        complete(task, response, nil)
        DispatchQueue.global().async { task.cancel() }
        #else
        completionHandler(nil)
        #endif
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse, let (transfer, round) = transfer(of: dataTask) {
            // Of a proxy's answer to CONNECT, swift-corelibs-foundation delivers the head as if it were the server's.
            let proxies = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
            let isSecure = dataTask.originalRequest?.url?.scheme == "https"
            let isProxied = isSecure && proxies.contains { getenv($0) != nil }
            transfer.receive(response, isProxied: isProxied, of: round)
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let (transfer, round) = transfer(of: dataTask) else { return }
        guard let pacer else { return transfer.receive(data, of: round) }
        pacer.pace(data.count, while: { transfer.isCurrent(round) }) { transfer.receive(data, of: round) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        if let (transfer, round) = transfer(of: task) { transfer.handle(.sent(totalBytesSent), of: round) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        // Foundation itself repeats a request if a reused connection turns out to be closed.
        guard let (transfer, round) = transfer(of: task) else { return completionHandler(nil) }
        transfer.makeBodyStream(of: round, completionHandler)
    }

    #if canImport(FoundationNetworking)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // Asked only after the whole of a 401 has been read. The default handling never completes the task
        // when there are no credentials to try, so this is taken as its end. The handler cancels the task, so
        // it may not be called from here.
        complete(task, task.response, nil)
        DispatchQueue.global().async { completionHandler(.cancelAuthenticationChallenge, nil) }
    }
    #endif

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        complete(task, task.response, error)
    }
}
