internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The delegate of a session: passes each call on to the transfer whose task it is about.
///
/// A table, because swift-corelibs-foundation does not look at a task's own delegate.
final class TransferRouter: NSObject, URLSessionDataDelegate {
    private let transfers = Guarded<[Int: Transfer]>([:])

    func add(_ transfer: Transfer, for task: URLSessionTask) {
        transfers.withLock { $0[task.taskIdentifier] = transfer }
    }

    private func transfer(of task: URLSessionTask) -> Transfer? {
        transfers.withLock { $0[task.taskIdentifier] }
    }

    /// For the last time: what the session still has to say about the task is for nobody.
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
        transfer(of: dataTask)?.hasReceived(data, by: dataTask)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        transfer(of: task)?.hasSent(totalBytesSent, by: task)
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
