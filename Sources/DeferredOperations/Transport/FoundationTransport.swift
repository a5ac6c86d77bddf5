#if canImport(FoundationNetworking)
internal import Foundation
// Requests and answers are in the names of this module: who uses it, and its other files, need no import for them.
@_exported public import FoundationNetworking
#else
public import Foundation
#endif

/// Carries requests by `URLSession`: the transport of ``TransferSession/shared``, and the only one that needs nothing
/// else.
///
/// It keeps connections open for reuse, and its `URLSession` is never invalidated while it is used; what is cancelled
/// is a single task. What its faults on Linux are, and which of them it avoids, is in <doc:FoundationOnLinux>.
public final class FoundationTransport: Transport {
    /// Tasks are made, started and cancelled here, in order, and never from a delegate call: on
    /// swift-corelibs-foundation all three wait for the queue that delegate calls come from.
    let control = DispatchQueue(label: "DeferredOperations.FoundationTransport")
    private let delegate: FoundationDelegate
    private let session: URLSession
    #if canImport(FoundationNetworking)
    /// The cookies of its requests, for another transport that is to have the same.
    package let cookies: CookieJar
    #endif

    /// Creates a transport that keeps no cache and no credentials, and cookies only in memory.
    public convenience init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        self.init(configuration: configuration)
    }

    /// Creates a transport with a configuration of your own, which is copied.
    ///
    /// The timeouts and the number of connections to a host are replaced: ``TransferOptions`` and the operation queue
    /// decide about those.
    ///
    /// A request with a `Cookie` header of its own is sent with that, and no stored cookie takes its place.
    public init(configuration: URLSessionConfiguration) {
        let configuration = configuration.copy() as? URLSessionConfiguration ?? configuration
        configuration.timeoutIntervalForRequest = Self.timeout
        configuration.timeoutIntervalForResource = Self.timeout
        configuration.httpMaximumConnectionsPerHost = 10_000
        // So that a cancel from another queue, by a transport that wraps this one, is made on this one.
        control.setSpecific(key: FoundationTask.control, value: ObjectIdentifier(control))
        #if canImport(FoundationNetworking)
        cookies = CookieJar(of: configuration)
        #endif
        delegate = FoundationDelegate(control)
        let queue = DelegateQueue()
        queue.maxConcurrentOperationCount = 1
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    deinit {
        // A session retains its delegate until then. Transfers retain this object, so none is running.
        session.finishTasksAndInvalidate()
    }

    /// What Foundation's own timeouts are set to, in seconds: they have a second's resolution on some
    /// platforms, count the time before there is a connection on others, and run on a clock that no test can
    /// move.
    private static let timeout: TimeInterval = 7 * 24 * 60 * 60

    #if canImport(FoundationNetworking)
    /// False: a task that is suspended sends its request again when it is resumed.
    public let canPause = false
    #else
    /// True: a task is suspended.
    public let canPause = true
    #endif

    /// False: `URLSession` unpacks whatever is marked as compressed.
    public let canDeliverAsSent = false

    /// Makes a task and starts it.
    public func send(
        _ request: URLRequest, _ body: TransportBody, for exchange: TransportExchange
    ) -> any TransportTask {
        #if canImport(FoundationNetworking)
        let task = task(for: cookies.adding(to: request), body)
        let answer = FoundationAnswer(exchange, to: request) { [cookies] in cookies.keep($0, to: request) }
        #else
        let task = task(for: request, body)
        let answer = FoundationAnswer(exchange, to: request)
        #endif
        delegate.add(task, for: answer)
        task.resume()
        return FoundationTask(task: task, queue: control)
    }

    private func task(for request: URLRequest, _ body: TransportBody) -> URLSessionTask {
        var request = request
        request.timeoutInterval = Self.timeout
        request.url = request.url?.asSent
        #if !canImport(FoundationNetworking)
        // Otherwise the cookies that were stored would take the place of the caller's.
        if request.value(forHTTPHeaderField: "Cookie") != nil { request.httpShouldHandleCookies = false }
        #endif
        switch body {
        case .none: break
        case .data(let data): request.httpBody = data
        case .stream(let stream, let byteCount):
            request.httpBodyStream = stream
            guard let byteCount else { break }
            request.setValue("\(byteCount)", forHTTPHeaderField: "Content-Length")
            #if canImport(FoundationNetworking)
            // libcurl sends a stream in chunks, also if there is a `Content-Length`, unless there is a header of this
            // name. One without a value it leaves out. Foundation adds a type of its own to a POST of a stream.
            request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
            if case .file? = (stream as? BodyStream)?.source,
                request.value(forHTTPHeaderField: "Content-Type") == nil
            {
                request.setValue(" ", forHTTPHeaderField: "Content-Type")
            }
            #else
            // A stream of a class of its own cannot be sent there, nor does it have to: a file is no danger, and a
            // length that is wrong is found.
            switch (stream as? BodyStream)?.source {
            case .file(let file)?:
                request.httpBodyStream = nil
                return session.uploadTask(with: request, fromFile: URL(fileURLWithPath: file.path))
            case .stream(let source)?: request.httpBodyStream = source
            case nil: break
            }
            #endif
        }
        return session.dataTask(with: request)
    }
}

/// Controls a task of `URLSession`.
private struct FoundationTask: TransportTask {
    let task: URLSessionTask
    let queue: DispatchQueue
    /// On the control queue of a transport, which queue that is.
    static let control = DispatchSpecificKey<ObjectIdentifier>()

    func pause() { perform { task.suspend() } }
    func resume() { perform { task.resume() } }
    func cancel() { perform { task.cancel() } }

    /// Runs `action` on the transport's queue: now, if that is where this is called.
    private func perform(_ action: @escaping @Sendable () -> Void) {
        let isThere = DispatchQueue.getSpecific(key: Self.control) == ObjectIdentifier(queue)
        if isThere { action() } else { queue.async(execute: action) }
    }
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
