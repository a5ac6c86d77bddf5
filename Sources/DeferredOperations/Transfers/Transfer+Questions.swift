internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Calls the closures of the user's that decide about a transfer. They run on the transfer's queue, or one for verification,
/// without the lock.
extension Transfer {
    /// Calls `onChallenge` for credentials. Silence does not count meanwhile. Under the lock.
    func askForCredentials(about response: HTTPURLResponse, _ onChallenge: @escaping ChallengeHandler) {
        state.challengeCount += 1
        let challenge = AuthenticationChallenge(
            request: state.request, response: response, attempt: state.challengeCount)
        let failure = statusFailure(response)
        state.waitsForUser = true
        ask({ try onChallenge(challenge) }) { [self] request in
            guard let request else { return fail(failure) }
            do {
                try request.checkedAddress()
                resend(request)
            } catch {
                fail(error)
            }
        }
    }

    /// Calls `onRedirect` for a decision. The time limits apply meanwhile. Under the lock.
    func askAboutRedirect(
        _ response: HTTPURLResponse, _ next: URLRequest, _ onRedirect: @escaping RedirectHandler
    ) {
        let redirect = TransferRedirect(
            request: state.request, response: response, next: next, count: state.redirectCount + 1)
        let failure = statusFailure(response)
        ask({ try onRedirect(redirect) }) { [self] decision in
            switch decision {
            case .follow: follow(next)
            case .stop: fail(failure)
            case .change(let request):
                guard request.url?.isHTTP == true, request.url?.host?.isEmpty == false else {
                    let location = request.url?.absoluteString ?? ""
                    return fail(DataSourceError.invalidRedirect(url, location: location.withoutUserInfo))
                }
                follow(request)
            }
        }
    }

    /// Calls a closure of the user's, and `use` with its answer, under the lock, if the transfer still waits
    /// for it then. Under the lock.
    private func ask<Answer: Sendable>(
        _ question: @escaping @Sendable () throws -> Deferred<Answer>,
        use: @escaping @Sendable (Answer) -> Void
    ) {
        if let task = state.task.take() { session.control.async { task.cancel() } }
        state.round += 1
        let round = state.round
        queue.async { [self] in
            // Only the attached link is kept, and cancelled: a handle could complete the answer, and retained here it
            // would keep one that nobody else can complete from being abandoned (A1).
            let consumer = Deferred<Answer>(following: question).both {
                [self] (result: Result<Answer, any Error>) -> Void in
                let cancelQuestion = lock.withLock { () -> (@Sendable () -> Void)? in
                    guard isCurrent(round) else { return nil }
                    let cancelQuestion = state.cancelQuestion.take()
                    switch result {
                    case .success(let answer): use(answer)
                    case .failure(let error): conclude(.failure(error))
                    }
                    return cancelQuestion
                }
                // Its captures are released outside the lock.
                _ = consume cancelQuestion
            }
            let isWanted = lock.withLock {
                guard isCurrent(round) else { return false }
                state.cancelQuestion = { consumer.cancel() }
                return true
            }
            if !isWanted { consumer.cancel() }
        }
    }

    /// Calls `validateResponse` with the head of an answer, while its body is received and staged. Under the lock.
    func validate(_ response: HTTPURLResponse) {
        state.isValidating = true
        let round = state.round
        queue.async { [self] in
            let result = Result { try options.validateResponse?(response) }
            let isAccepted = lock.withLock {
                guard isCurrent(round) else { return false }
                if case .failure(let error) = result {
                    fail(error, from: .refusal)
                    return false
                }
                return true
            }
            guard isAccepted, passStagedAnswer(response, round) else { return }
            sink.hasAccepted(response)
            lock.withLock {
                guard isCurrent(round) else { return }
                state.isValidating = false
                if let failure = state.answerFailure { return fail(failure) }
                if state.hasAnswerEnded { completeBody(response) }
            }
        }
    }

    /// Notifies the sink of an answer that needs no validation. Under the lock.
    ///
    /// The answer counts as accepted at once: its body may be received, and the rest of it requested after a pause, before the
    /// queue gets to this.
    func acceptUnvalidated(_ response: HTTPURLResponse) {
        state.hasValidated = true
        queue.async { [self] in
            guard lock.withLock({ state.phase == .running }) else { return }
            sink.hasAccepted(response)
        }
    }

    /// Runs the sink's verification of the whole body. Its time does not count as silence. Under the lock.
    func verify(_ response: HTTPURLResponse, _ verification: @escaping @Sendable () throws -> Void) {
        state.waitsForUser = true
        let round = state.round
        // It may take long. This queue gets a thread of its own, and leaves those of the global queues to others.
        DispatchQueue(label: "DeferredOperations.Verification").async { [self] in
            let result = Result { try verification() }
            lock.withLock {
                guard isCurrent(round) else { return }
                switch result {
                case .failure(let error): fail(error, from: .verification)
                case .success: conclude(.success(response))
                }
            }
        }
    }
}
