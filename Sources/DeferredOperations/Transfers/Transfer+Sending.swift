internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Preparing and sending the requests of a transfer.
extension Transfer {
    /// Sends another request in place of the present one. Under the lock; the transfer is running.
    func resend(_ request: URLRequest) {
        if let task = state.task.take() { session.control.async { task.cancel() } }
        if let cancelQuestion = state.cancelQuestion.take() {
            DispatchQueue.global().async(execute: cancelQuestion)
        }
        state.round += 1
        state.request = request
        state.response = nil
        state.bodyUse = .ignored
        state.received = 0
        state.announced = nil
        state.waitsForUser = false
        state.isValidating = false
        state.hasAnswerEnded = false
        state.answerFailure = nil
        state.silentTicks = 0
        let round = state.round
        let hasBody = request.httpMethod != "GET" && request.httpMethod != "HEAD"
        if hasBody, let makeBodyStream = options.makeBodyStream {
            // The closure is the user's, hence not under the lock, nor where other transfers wait.
            queue.async { [self] in
                let stream = Result { UnsafeTransfer(try makeBodyStream()) }
                lock.withLock {
                    guard isCurrent(round) else { return }
                    do { begin(round, request, stream: try stream.get().value) } catch {
                        conclude(.failure(error))
                    }
                }
            }
        } else {
            begin(round, request, stream: request.httpBodyStream)
        }
    }

    /// Calls `use` with another stream for the present request, or nil if there is no closure that makes one. On the
    /// transfer's queue.
    func makeBodyStream(_ use: @escaping @Sendable (InputStream?) -> Void) {
        queue.async { [self] in use(try? options.makeBodyStream?()) }
    }

    /// Whether a closure that was called for that request may still decide something. Under the lock.
    func isCurrent(_ round: Int) -> Bool { state.phase == .running && state.round == round }

    /// Makes the task for `request` and starts it. Under the lock.
    private func begin(_ round: Int, _ request: URLRequest, stream: InputStream?) {
        if let stream {
            guard !state.sentStreams.contains(where: { $0 === stream }), stream.streamStatus == .notOpen
            else {
                return conclude(.failure(DataSourceError.cannotResendBody(url)))
            }
            state.sentStreams.append(stream)
        }
        var sent = request
        sent.timeoutInterval = TransferSession.foundationTimeout
        sent.url = sent.url?.asSent
        if stream != nil { sent.httpBodyStream = stream }
        let box = UnsafeTransfer(sent)
        session.control.async { [self] in
            guard lock.withLock({ isCurrent(round) }) else { return }
            let request = box.value
            let task: URLSessionTask =
                if let file = options.uploadFile, request.httpMethod != "GET" {
                    session.session.uploadTask(with: request, fromFile: file)
                } else {
                    session.session.dataTask(with: request)
                }
            let isWanted = lock.withLock {
                guard isCurrent(round) else { return false }
                state.task = task
                state.metrics.requestCount += 1
                return true
            }
            guard isWanted else { return task.cancel() }
            session.router.add(self, for: task)
            task.resume()
        }
    }
}

/// Carries a value to where it is used alone.
///
/// Sound as `@unchecked Sendable`: the sender does not use the value any more.
private struct UnsafeTransfer<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
