internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// What comes from the server. The calls are the session's, on its delegate queue.
extension Transfer {
    /// The head of an answer is there.
    func hasResponse(_ response: HTTPURLResponse, to task: URLSessionTask) {
        lock.withLock {
            guard state.stage == .running, state.task === task else { return }
            state.wasHeard = true
            // An informational answer: the real one follows.
            if 100..<200 ~= response.statusCode { return }
            take(response)
        }
    }

    /// The next piece of the body is there.
    func hasReceived(_ data: Data, by task: URLSessionTask) {
        lock.withLock {
            guard state.stage == .running, state.task === task else { return }
            state.wasHeard = true
            if state.metrics.firstByte == nil { state.metrics.firstByte = .now }
            switch state.bodyUse {
            case .ignored:
                break
            case .sample(var sample):
                sample.append(data.prefix(max(0, options.errorByteCount - sample.count)))
                state.bodyUse = .sample(sample)
                if sample.count >= options.errorByteCount { endAnswer() }
            case .sink:
                state.received += Int64(data.count)
                state.metrics.received += Int64(data.count)
                state.progress.received += Int64(data.count)
                if let limit = options.maximumByteCount, state.progress.received > limit {
                    return conclude(.failure(DataSourceError.tooLarge(url, limit: limit)))
                }
                do { try sink.receive(data) } catch { return conclude(.failure(error)) }
                reportProgress()
            }
        }
    }

    /// So much of the request's body has been sent.
    func hasSent(_ byteCount: Int64, by task: URLSessionTask) {
        lock.withLock {
            guard state.stage == .running, state.task === task else { return }
            state.wasHeard = true
            state.progress.sent = byteCount
            reportProgress()
        }
    }

    /// The task is over.
    func hasCompleted(_ task: URLSessionTask, error: (any Error)?) {
        lock.withLock {
            guard state.stage == .running, state.task === task else { return }
            state.wasHeard = true
            state.task = nil
            if state.response == nil, error == nil, let response = task.response as? HTTPURLResponse {
                take(response)
                guard state.stage == .running else { return }
            }
            if let error, !isSampling {
                let failure = TransferFailure(
                    url: url, response: state.response, received: state.received, expected: state.announced)
                return conclude(.failure(failure.error(for: error)))
            }
            endAnswer()
        }
    }

    // MARK: Under the lock

    /// The address that is being asked now, after redirects.
    var url: URL { state.request.url ?? URL(fileURLWithPath: "/") }

    private var isSampling: Bool {
        if case .sample = state.bodyUse { true } else { false }
    }

    private func isAccepted(_ status: Int) -> Bool {
        options.acceptedStatuses.contains(status) || status == 304 && isConditional
    }

    private var isConditional: Bool {
        state.request.value(forHTTPHeaderField: "If-None-Match") != nil
            || state.request.value(forHTTPHeaderField: "If-Modified-Since") != nil
    }

    /// Decides what becomes of the body.
    private func take(_ response: HTTPURLResponse) {
        let response = response.from(state.request.url)
        state.response = response
        state.metrics.responded = .now
        state.metrics.firstByte = nil
        state.bodyUse = .ignored
        let status = response.statusCode
        if status == 304 && isConditional { return }
        do {
            if try Redirect.request(after: response, to: state.request) != nil { return }
            guard isAccepted(status) else {
                state.bodyUse = .sample(Data())
                return
            }
            try check(response)
            let announced = response.announcedLength(for: state.request)
            let before = try sink.begin(response, announced: announced)
            state.bodyUse = .sink
            state.announced = announced
            state.progress.received = before
            state.progress.expected = announced.map { $0 + before }
            if let limit = options.maximumByteCount, let expected = state.progress.expected, expected > limit
            {
                return conclude(.failure(DataSourceError.tooLarge(url, limit: limit)))
            }
            reportProgress()
        } catch {
            conclude(.failure(error))
        }
    }

    /// Throws what can't be the whole of what was asked for.
    private func check(_ response: HTTPURLResponse) throws(DataSourceError) {
        if response.statusCode == 206, state.request.value(forHTTPHeaderField: "Range") == nil {
            throw .malformedResponse(url, reason: "a part (206) that was not asked for")
        }
        // libcurl passes over a number that it can't hold, and reads until the connection ends.
        if let length = response.value(forHTTPHeaderField: "Content-Length"), !length.isEmpty,
            length.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), Int64(length) == nil
        {
            throw .malformedResponse(url, reason: "a Content-Length of \(length)")
        }
    }

    /// The answer is there as far as it is wanted.
    private func endAnswer() {
        guard let response = state.response else {
            return conclude(.failure(DataSourceError.malformedResponse(url, reason: "no status")))
        }
        do {
            if let next = try Redirect.request(after: response, to: state.request) { return follow(next) }
            switch response.statusCode {
            case 401 where options.onChallenge != nil && state.challengeCount < 3:
                return ask(about: response)
            case 416:
                if let next = try sink.request(insteadOf: state.request) { return resend(next) }
            default:
                break
            }
        } catch {
            return conclude(.failure(error))
        }
        guard isAccepted(response.statusCode) else { return conclude(.failure(statusFailure(response))) }
        if let announced = state.announced, state.received < announced {
            return conclude(
                .failure(DataSourceError.truncated(url, received: state.received, expected: announced)))
        }
        conclude(.success(response))
    }

    private func statusFailure(_ response: HTTPURLResponse) -> DataSourceError {
        var body = Data()
        if case .sample(let sample) = state.bodyUse { body = sample }
        return .status(.init(response, url: url, body: body))
    }

    private func follow(_ next: URLRequest) {
        guard state.redirectCount < options.maximumRedirectCount else {
            return conclude(
                .failure(
                    DataSourceError.tooManyRedirects(
                        url, count: options.maximumRedirectCount, last: next.url ?? url)))
        }
        state.redirectCount += 1
        resend(next)
    }

    /// Sends another request in place of the present one.
    private func resend(_ request: URLRequest) {
        if let task = state.task.take() { session.control.async { task.cancel() } }
        send(request)
    }

    /// Asks the user for credentials, on the transfer's own queue.
    private func ask(about response: HTTPURLResponse) {
        guard let onChallenge = options.onChallenge else { return }
        state.challengeCount += 1
        let challenge = AuthenticationChallenge(
            request: state.request, response: response, attempt: state.challengeCount)
        let failure = statusFailure(response)
        if let task = state.task.take() { session.control.async { task.cancel() } }
        queue.async { [self] in
            let answer = Deferred<URLRequest?>(catching: { try onChallenge(challenge) })
            let isWanted = lock.withLock {
                guard state.stage == .running else { return false }
                state.challenge = answer
                return true
            }
            guard isWanted else { return answer.cancel() }
            answer.both { [self] (result: Result<URLRequest?, any Error>) -> Void in
                lock.withLock {
                    guard state.stage == .running else { return }
                    state.challenge = nil
                    switch result {
                    case .success(let request?): send(request)
                    case .success(nil): conclude(.failure(failure))
                    case .failure(let error): conclude(.failure(error))
                    }
                }
            }
        }
    }
}

extension HTTPURLResponse {
    /// How many bytes the body is to have once it is decoded, if that was said.
    fileprivate func announcedLength(for request: URLRequest) -> Int64? {
        if request.httpMethod == "HEAD" || statusCode == 204 || statusCode == 304 { return nil }
        if let encoding = value(forHTTPHeaderField: "Content-Encoding"), encoding.lowercased() != "identity" {
            return nil
        }
        guard let text = value(forHTTPHeaderField: "Content-Length"), let length = Int64(text), length >= 0
        else { return nil }
        return length
    }
}
