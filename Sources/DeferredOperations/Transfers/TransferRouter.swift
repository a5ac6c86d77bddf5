internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The delegate of a session: passes each call to the transfer whose task it is about.
///
/// It has a table of transfers because swift-corelibs-foundation ignores a task's own delegate.
final class TransferRouter: NSObject, URLSessionDataDelegate {
    private let transfers = SpinLocked<[Int: Transfer]>([:])
    private let pacer: TransferPacer?

    init(_ pacer: TransferPacer?) { self.pacer = pacer }

    func add(_ transfer: Transfer, for task: URLSessionTask) {
        transfers.withLock { $0[task.taskIdentifier] = transfer }
    }

    private func transfer(of task: URLSessionTask) -> Transfer? {
        transfers.withLock { $0[task.taskIdentifier] }
    }

    /// Removes the transfer: further calls about the task are ignored.
    private func takeTransfer(of task: URLSessionTask) -> Transfer? {
        transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // Foundation would drop the body of a 307, keep credentials, and misread a relative location:
        // `Transfer` makes the next request itself, from this answer.
        #if canImport(FoundationNetworking)
        let isDelivered =
            transfer(of: task)?.takesRedirect(response, of: task, deliver: { completionHandler(nil) }) == true
        if isDelivered { return }
        // The whole answer has been read, so this is taken as the end of the task. The handler is not called:
        // with a task that is being cancelled at the same time, swift-corelibs-foundation ends the process
        // for it.
        if let transfer = takeTransfer(of: task) {
            transfer.hasResponse(response, to: task)
            transfer.hasCompleted(task, error: nil)
        }
        DispatchQueue.global().async { task.cancel() }
        #else
        completionHandler(nil)
        #endif
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse {
            transfer(of: dataTask)?.hasResponse(response, to: dataTask)
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let transfer = transfer(of: dataTask) else { return }
        guard let pacer else { return transfer.hasReceived(data, by: dataTask) }
        pacer.pace(data.count, while: { transfer.isWaiting(for: dataTask) }) {
            transfer.hasReceived(data, by: dataTask)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        transfer(of: task)?.hasSent(totalBytesSent, by: task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        // Foundation itself repeats a request if a reused connection turns out to be closed.
        guard let transfer = transfer(of: task) else { return completionHandler(nil) }
        transfer.makeBodyStream(completionHandler)
    }

    #if canImport(FoundationNetworking)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // Asked only after the whole of a 401 has been read. The default handling never completes the task
        // when there are no credentials to try, so this is taken as its end. The handler cancels the task, so
        // it may not be called from here.
        takeTransfer(of: task)?.hasCompleted(task, error: nil)
        DispatchQueue.global().async { completionHandler(.cancelAuthenticationChallenge, nil) }
    }
    #endif

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        takeTransfer(of: task)?.hasCompleted(task, error: error)
    }
}
