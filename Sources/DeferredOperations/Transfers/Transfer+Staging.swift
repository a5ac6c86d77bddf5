internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Passes answers to the sink, those that are validated only after they have been accepted.
extension Transfer {
    /// Has the sink take an answer; false if the transfer continues with another request, or ends. Under the lock.
    func beginSink(_ response: HTTPURLResponse, _ part: ContentRange?, _ announced: Int64?) throws -> Bool {
        switch try sink.begin(response, part: part, announced: announced) {
        case .resend(let request):
            resend(request)
            return false
        case .body(let before, let total):
            state.bodyUse = .sink
            state.progress.received = before
            state.progress.expected = total
        }
        if let limit = options.maximumByteCount, let expected = state.progress.expected, expected > limit {
            fail(DataSourceError.tooLarge(url, limit: limit))
            return false
        }
        reportProgress()
        return true
    }

    /// Passes an accepted answer and its staged body, if there is one, to the sink; false if the transfer continues with
    /// another request, or has ended. On the transfer's queue.
    ///
    /// The answer counts as validated before the lock is released: a consumer that receives it may continue the transfer
    /// with a request for the rest. The lock is taken for each piece, so that a cancel waits for one of them at most.
    func passStagedAnswer(_ response: HTTPURLResponse, _ round: Int) -> Bool {
        var hasBegun = false
        while true {
            let isMore: Bool? = lock.withLock {
                guard isCurrent(round) else { return nil }
                guard case .staged(let staged) = state.bodyUse else {
                    state.hasValidated = true
                    return false
                }
                do {
                    if !hasBegun {
                        hasBegun = true
                        guard try beginSink(response, staged.part, staged.announced) else { return nil }
                        // What arrives meanwhile follows what is staged.
                        state.bodyUse = .staged(staged)
                    }
                    guard let piece = try staged.take() else {
                        state.bodyUse = .sink
                        state.hasValidated = true
                        return false
                    }
                    try pass(piece)
                } catch {
                    fail(error)
                }
                return isCurrent(round) ? true : nil
            }
            guard let isMore else { return false }
            if !isMore { return true }
        }
    }
}
