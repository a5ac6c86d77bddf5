internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Receives what the server sends. The session calls these methods on its delegate queue.
extension Transfer {
    /// Receives the head of an answer.
    func hasResponse(_ response: HTTPURLResponse, to task: URLSessionTask) {
        lock.withLock {
            guard state.phase == .running, state.task === task else { return }
            state.wasHeard = true
            // An informational answer: the real one follows.
            if 100..<200 ~= response.statusCode { return }
            take(response)
        }
    }

    /// Receives the next piece of the body.
    func hasReceived(_ data: Data, by task: URLSessionTask) {
        lock.withLock {
            guard state.phase == .running, state.task === task else { return }
            state.wasHeard = true
            if state.metrics.firstByte == nil { state.metrics.firstByte = .now }
            switch state.bodyUse {
            case .ignored:
                break
            case .sample(var sample):
                sample.append(data.prefix(max(0, options.errorByteCount - sample.count)))
                state.bodyUse = .sample(sample)
                if sample.count >= options.errorByteCount { endAnswer() }
            case .sink, .staged:
                receive(data)
            }
        }
        sink.deliver()
    }

    /// Notes that so much of the request's body has been sent.
    func hasSent(_ byteCount: Int64, by task: URLSessionTask) {
        lock.withLock {
            guard state.phase == .running, state.task === task else { return }
            state.wasHeard = true
            state.progress.sent = byteCount
            reportProgress()
        }
    }

    /// Receives the end of the task.
    func hasCompleted(_ task: URLSessionTask, error: (any Error)?) {
        lock.withLock {
            guard state.phase == .running, state.task === task else { return }
            state.wasHeard = true
            state.task = nil
            if state.response == nil, error == nil, let response = task.response as? HTTPURLResponse {
                let round = state.round
                take(response)
                guard isCurrent(round) else { return }
            }
            if let error, !isSampling {
                let failure = TransferFailure(
                    url: url, response: state.response, received: state.received, expected: state.announced)
                guard case .staged = state.bodyUse else { return fail(failure.error(for: error)) }
                // What has been received is kept for a later attempt, if the answer is accepted.
                state.answerFailure = failure.error(for: error)
                return
            }
            endAnswer()
        }
    }

    /// Has a redirect that will not be followed, or perhaps not, delivered like any other answer; false if its
    /// body is not wanted.
    ///
    /// - Parameter deliver: Makes the session deliver it. Called in order with cancels of the task: after one,
    ///   swift-corelibs-foundation ends the process for it.
    func takesRedirect(
        _ response: HTTPURLResponse, of task: URLSessionTask, deliver: @escaping @Sendable () -> Void
    )
        -> Bool
    {
        guard options.onRedirect != nil || lock.withLock({ isAccepted(response.statusCode) }) else {
            return false
        }
        session.control.async { [self] in
            guard lock.withLock({ state.phase == .running && state.task === task }) else { return }
            deliver()
        }
        return true
    }

    // MARK: Under the lock

    /// The address that is being asked now, after redirects, as errors name it.
    var url: URL { state.request.errorURL }

    private var isSampling: Bool {
        if case .sample = state.bodyUse { true } else { false }
    }

    private func isAccepted(_ status: Int) -> Bool {
        options.acceptedStatuses.contains(status) || status == 304 && state.request.isConditional
    }

    /// Decides how the body is used.
    private func take(_ response: HTTPURLResponse) {
        let response = response.from(state.request.url)
        state.response = response
        state.metrics.responded = .now
        state.metrics.firstByte = nil
        state.bodyUse = .ignored
        let status = response.statusCode
        do {
            guard isAccepted(status) else {
                let isRedirect = try Redirect.request(after: response, to: state.request) != nil
                if !isRedirect || options.onRedirect != nil { state.bodyUse = .sample(Data()) }
                return
            }
            if status == 304 { return }
            try begin(response)
        } catch {
            fail(error)
        }
    }

    private func begin(_ response: HTTPURLResponse) throws {
        let part = try response.checkedPart(askedBy: state.request)
        let announced =
            try part?.bytes.map { $0.upperBound - $0.lowerBound + 1 }
            ?? response.announcedLength(for: state.request)
        if let limit = options.maximumByteCount, let announced, announced > limit {
            return fail(DataSourceError.tooLarge(url, limit: limit))
        }
        state.announced = announced
        // Not again for the rest of a body. Anything else that comes in place of the rest is another answer.
        let isRest = state.hasValidated && response.statusCode == 206
        let mustValidate = !isRest && options.validateResponse != nil
        if mustValidate, !sink.keepsUnacceptedBody {
            state.bodyUse = .staged(StagedAnswer(part: part, announced: announced))
            return validate(response)
        }
        guard try beginSink(response, part, announced) else { return }
        if mustValidate { return validate(response) }
        if !state.hasValidated, sink.wantsHead { acceptUnvalidated(response) }
    }

    private func receive(_ data: Data) {
        state.received += Int64(data.count)
        state.metrics.received += Int64(data.count)
        if let limit = options.maximumByteCount, state.received > limit {
            return fail(DataSourceError.tooLarge(url, limit: limit))
        }
        if let announced = state.announced, state.received > announced {
            return fail(
                DataSourceError.malformedResponse(url, reason: "a body of more than \(announced) bytes"))
        }
        do {
            if case .staged(let staged) = state.bodyUse {
                try staged.append(data)
            } else {
                try pass(data)
            }
        } catch {
            fail(error)
        }
    }

    /// Passes the next piece of the body to the sink.
    func pass(_ data: Data) throws {
        state.progress.received += Int64(data.count)
        if let limit = options.maximumByteCount, state.progress.received > limit {
            throw DataSourceError.tooLarge(url, limit: limit)
        }
        try sink.receive(data)
        if sink.pausesTransfer() { pause() }
        reportProgress()
    }

    /// Decides how to continue after an answer that has arrived completely, or as far as it is needed.
    private func endAnswer() {
        guard let response = state.response else {
            return fail(DataSourceError.malformedResponse(url, reason: "no status"))
        }
        if isAccepted(response.statusCode) { return completeBody(response) }
        do {
            if let next = try Redirect.request(after: response, to: state.request) {
                guard let onRedirect = options.onRedirect else { return follow(next) }
                return askAboutRedirect(response, next, onRedirect)
            }
            if response.statusCode == 401, let onChallenge = options.onChallenge, state.challengeCount < 3 {
                return askForCredentials(about: response, onChallenge)
            }
            if response.statusCode == 416 {
                switch try sink.use(ofUnsatisfiable: response) {
                case .complete: return try finish(response)
                case .resend(let request): return resend(request)
                case .failure: break
                }
            }
            fail(statusFailure(response))
        } catch {
            fail(error)
        }
    }

    /// Continues after the body of an accepted answer has ended.
    func completeBody(_ response: HTTPURLResponse) {
        if case .staged = state.bodyUse {
            state.hasAnswerEnded = true
            return
        }
        if let announced = state.announced, state.received < announced {
            return fail(DataSourceError.truncated(url, received: state.received, expected: announced))
        }
        guard !state.isValidating else {
            state.hasAnswerEnded = true
            return
        }
        do {
            if case .sink = state.bodyUse, let next = try sink.requestForRest(after: response) {
                state.redirectCount = 0
                return resend(next)
            }
            try finish(response)
        } catch {
            fail(error)
        }
    }

    private func finish(_ response: HTTPURLResponse) throws {
        if let task = state.task.take() { session.control.async { task.cancel() } }
        guard let verification = try sink.verification() else { return conclude(.success(response)) }
        verify(response, verification)
    }

    func statusFailure(_ response: HTTPURLResponse) -> DataSourceError {
        var body = Data()
        if case .sample(let sample) = state.bodyUse { body = sample }
        return .status(.init(response, url: url, body: body))
    }

    func follow(_ next: URLRequest) {
        guard state.redirectCount < options.maximumRedirectCount else {
            return fail(
                DataSourceError.tooManyRedirects(
                    url, count: options.maximumRedirectCount, last: next.errorURL))
        }
        state.redirectCount += 1
        resend(next)
    }
}
