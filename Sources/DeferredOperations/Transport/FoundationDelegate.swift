internal import Foundation

/// The delegate of a session: passes each call to the answer whose task it is about.
///
/// It has a table of answers because swift-corelibs-foundation ignores a task's own delegate.
final class FoundationDelegate: NSObject, URLSessionDataDelegate {
    private let answers = Locked<[Int: FoundationAnswer]>([:])
    private let control: DispatchQueue

    init(_ control: DispatchQueue) { self.control = control }

    func add(_ task: URLSessionTask, for answer: FoundationAnswer) {
        answers.withLock { $0[task.taskIdentifier] = answer }
    }

    private func answer(to task: URLSessionTask) -> FoundationAnswer? {
        answers.withLock { $0[task.taskIdentifier] }
    }

    /// Returns the answer of a task that has ended. Further calls about the task are ignored.
    private func removeAnswer(to task: URLSessionTask) -> FoundationAnswer? {
        answers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // Foundation would drop the body of a 307, keep credentials, and misread a relative location:
        // `Transfer` makes the next request itself, from this answer.
        #if canImport(FoundationNetworking)
        if let exchange = answer(to: task)?.exchange, exchange.wantsBody(of: response) {
            // In order with cancels of the task: after one, swift-corelibs-foundation ends the process for it.
            return control.async { if !exchange.isCancelled { completionHandler(nil) } }
        }
        // The whole answer has been read, so this is taken as the end of the task. The handler is not called:
        // with a task that is being cancelled at the same time, swift-corelibs-foundation ends the process
        // for it.
        removeAnswer(to: task)?.endWithoutBody(.redirect(response), response)
        DispatchQueue.global().async { task.cancel() }
        #else
        completionHandler(nil)
        #endif
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse, let answer = answer(to: dataTask) {
            // Of a proxy's answer to CONNECT, swift-corelibs-foundation delivers the head as if it were the server's.
            let proxies = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
            let isSecure = dataTask.originalRequest?.url?.scheme == "https"
            answer.receive(response, isProxied: isSecure && proxies.contains { getenv($0) != nil })
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        answer(to: dataTask)?.receive(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        answer(to: task)?.exchange.receive(.sent(totalBytesSent))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        // Foundation itself repeats a request if a reused connection turns out to be closed.
        guard let answer = answer(to: task) else { return completionHandler(nil) }
        answer.exchange.makeBodyStream(completionHandler)
    }

    #if canImport(FoundationNetworking)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // Asked only after the whole of a 401 has been read. The default handling never completes the task
        // when there are no credentials to try, so this is taken as its end. The handler cancels the task, so
        // it may not be called from here.
        let answer = removeAnswer(to: task)
        if let response = task.response as? HTTPURLResponse {
            answer?.endWithoutBody(.challenge(response), response)
        } else {
            answer?.exchange.receive(.end(nil))
        }
        DispatchQueue.global().async { completionHandler(.cancelAuthenticationChallenge, nil) }
    }
    #else
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        guard let answer = answer(to: task), let last = metrics.transactionMetrics.last else { return }
        let end = last.isReusedConnection ? last.requestStartDate : last.connectEndDate
        let connected = end.map { ContinuousClock.now - .seconds(Date().timeIntervalSince($0)) }
        answer.exchange.receive(
            .metrics(
                .init(
                    connected: connected, isReused: last.isReusedConnection,
                    protocolName: last.networkProtocolName)
            ))
    }
    #endif

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        removeAnswer(to: task)?.end(task.response as? HTTPURLResponse, error)
    }
}

// Sound as `@unchecked Sendable`: the delegate's calls about a task come one at a time, and use it one at a time.
/// Makes the events of an exchange from what Foundation reports of a task.
final class FoundationAnswer: @unchecked Sendable {
    let exchange: TransportExchange
    private let request: URLRequest
    /// A head that may be a proxy's answer to CONNECT: the next event shows what it is. If another head follows it
    /// was that, and also if the task fails; a piece of the body, or the end, confirms it.
    private var heldHead: HTTPURLResponse?
    /// Whether a head has been reported; no other one is then, since each task has one answer.
    private var hasHead = false

    /// Called with the head, before that is reported.
    private let onHead: @Sendable (HTTPURLResponse) -> Void

    init(
        _ exchange: TransportExchange, to request: URLRequest,
        onHead: @escaping @Sendable (HTTPURLResponse) -> Void = { _ in }
    ) {
        (self.exchange, self.request, self.onHead) = (exchange, request, onHead)
    }

    /// Reports an answer whose body Foundation does not deliver.
    func endWithoutBody(_ event: TransportEvent, _ response: HTTPURLResponse) {
        onHead(response)
        exchange.receive(event)
    }

    /// - Parameter isProxied: Whether the first head may be that of a proxy's answer to CONNECT.
    func receive(_ response: HTTPURLResponse, isProxied: Bool = false) {
        if hasHead { return }
        if isProxied, heldHead == nil { return heldHead = response }
        heldHead = nil
        // After an informational answer, another follows.
        hasHead = response.statusCode >= 200
        if hasHead { onHead(response) }
        exchange.receive(.head(response))
    }

    func receive(_ data: Data) {
        if let head = heldHead.take() { receive(head) }
        exchange.receive(.bytes(data))
    }

    /// - Parameter response: That of the task, which may not have been reported before.
    func end(_ response: HTTPURLResponse?, _ error: (any Error)?) {
        if let error {
            let shortage = response == nil ? DataSourceError.descriptorShortage(request.errorURL) : nil
            return exchange.receive(.end(shortage ?? error))
        }
        if let response { receive(response) }
        exchange.receive(.end(nil))
    }
}

extension DataSourceError {
    /// Returns the failure of a request if the process has no file descriptors left, where libcurl says that it cannot
    /// connect or find the host; nil if it has some.
    ///
    /// A connection needs several at once, for the resolver and for the socket, and those that it got have been closed
    /// by now: so several are opened here.
    static func descriptorShortage(_ url: URL) -> DataSourceError? {
        let descriptors = (0..<4).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        let fault = errno
        for descriptor in descriptors where descriptor >= 0 { close(descriptor) }
        guard descriptors.contains(where: { $0 < 0 }), fault == EMFILE || fault == ENFILE else { return nil }
        return .cannotConnect(url, reason: "too many open files: this process may have no more")
    }
}
