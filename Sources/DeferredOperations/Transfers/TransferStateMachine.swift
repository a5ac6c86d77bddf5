internal import Deferred
internal import Foundation

/// One transfer: a request, the redirects and challenges that it meets, and the body of the last answer, which a
/// sink receives.
///
/// A value without locks, timers, tasks or files: ``Transfer`` passes it events, one at a time, and performs
/// the actions that each returns, in order. ``TransferPhases/targets(of:in:)`` has an entry for each state and event;
/// Documentation/Transfers.md has the diagram, which is generated from it.
///
/// - A *round* is one task, or one call of a closure of the user's. Whatever replaces it begins another
///   round; what belongs to an earlier one is cancelled, and its events are dropped.
/// - In the state `consulting`, the next event is the reply of the sink.
/// - Redirects and challenges are counted from the last request that the library made of its own accord (O7).
struct TransferStateMachine: ~Copyable {
    enum Action {
        case send(URLRequest)
        /// Open or make the body of the request, a stream or a file, and send that.
        case openBody(URLRequest)
        case stage(Data)
        case flush
        case deliver(Data)
        case suspend
        case resume
        /// Notify the sink of the head of the accepted answer.
        case accept(HTTPURLResponse)
        /// Call a closure of the user's, and wait for what it returns.
        case call(@Sendable () throws -> Deferred<URLRequest?>)
        case report
        /// Have `concluded` follow: after the closures of the user's if this is a success.
        case conclude(Result<HTTPURLResponse, any Error>)
        /// Move what the sink has into place, or remove it.
        case close(Result<HTTPURLResponse, any Error>)
        case discard
    }

    private(set) var state = TransferState.plain(.preparing)
    /// Increased by what replaces a task, or a call of a closure.
    private(set) var round = 0
    private(set) var request: URLRequest
    private(set) var answer: TransferAnswer?
    private(set) var progress = TransferProgress()
    /// How many bytes of bodies have been received, over all requests: of those that were wanted, and of the one whose
    /// status is the failure.
    private(set) var received: Int64 = 0
    let options: TransferOptions
    private(set) var silence: TransferSilence
    /// Whether the transport can pause a request. If not, a pause cancels it, and the rest is requested later.
    private let canPause: Bool
    /// Whether the transport can leave a coding on the body.
    private let canDeliverAsSent: Bool
    private var redirectCount = 0
    private var challengeCount = 0
    /// Whether an answer has been accepted: the rest of its body is not validated again.
    private var hasAccepted = false
    private var actions: [Action] = []

    init(
        _ request: URLRequest, _ options: TransferOptions, canPause: Bool, canDeliverAsSent: Bool = true
    ) {
        self.request = request
        self.options = options
        self.canPause = canPause
        self.canDeliverAsSent = canDeliverAsSent
        silence = TransferSilence(options.silenceTimeout ?? request.silenceTimeout)
    }

    var phase: TransferPhases { state.phase }

    /// Whether the outcome is decided.
    var hasEnded: Bool { phase.isSubset(of: .ended) }

    /// The address that is being asked now, after redirects, as errors name it.
    var url: URL { request.errorURL }

    /// Takes an event, and returns what is to be done, in this order.
    ///
    /// - Parameter round: Of what the event is about; nil for an event of the whole transfer.
    mutating func handle(_ event: TransferEvent, of round: Int? = nil) -> [Action] {
        if let round, round != self.round { return [] }
        let phase = phase
        guard let targets = TransferPhases.targets(of: event, in: phase) else {
            assertionFailure("\(event) in \(state)")
            return []
        }
        if targets.isEmpty { return [] }
        do { try advance(by: event) } catch { fail(error) }
        assert(targets.contains(self.phase), "\(event) in \(phase) led to \(state)")
        defer { actions = [] }
        return actions
    }

    /// Takes an event. What this throws is a failure of the transfer.
    private mutating func advance(by event: TransferEvent) throws {
        switch event {
        case .returned(let result): try use(result)
        case .failed(let error): throw error
        case .sinkReplied(let reply):
            if case .consulting(let question) = state { try use(reply, to: question) }
        case .head(let response): try take(response)
        case .answered(let response):
            if phase == .requesting { try take(response) }
            try endAnswered()
        // What comes after the end of the exchange, while it waits to be accepted.
        case .bytes where answer?.end != nil, .sent where answer?.end != nil: return
        case .bytes where phase == .requesting:
            throw DataSourceError.malformedResponse(url, reason: "a body without a head")
        case .bytes(let data):
            silence.end()
            if phase == .sampling { try sample(data) } else { try take(data) }
        case .sent(let byteCount):
            silence.end()
            progress.sent = byteCount
            actions.append(.report)
        case .completed(let error): try endTask(error)
        case .flushed:
            // What has arrived meanwhile was counted, and no report of it has been made.
            actions.append(.report)
            try accept()
        case .full:
            state = .plain(.paused)
            if canPause { actions.append(.suspend) } else { round += 1 }
        case .room where !canPause: state = .consulting(.completed)
        case .room:
            state = .plain(.receiving)
            actions.append(.resume)
        case .tick(let isHeldUp):
            if let limit = silence.tick(counts: !isHeldUp && countsSilence) {
                throw DataSourceError.timedOut(url, .silence(limit))
            }
        case .limitPassed(let limit): end(.failure(DataSourceError.timedOut(url, .total(limit))))
        case .stop:
            round += 1
            state = .plain(.over)
            actions.append(.discard)
        case .concluded:
            guard case .ending(let result) = state else { return }
            state = .plain(.over)
            actions.append(.close(result))
        }
    }

    // MARK: Requests

    private mutating func send(_ request: URLRequest) {
        round += 1
        self.request = request
        answer = nil
        silence.restart()
        state = .plain(.requesting)
        let hasBody = options.uploadFile != nil || options.uploadForm != nil || options.makeBodyStream != nil
        let opensBody = request.httpBodyStream != nil || hasBody && request.mayHaveBody
        actions.append(opensBody ? .openBody(request) : .send(request))
    }

    private mutating func fail(_ error: any Error, _ cause: FailureCause = .transfer) {
        // The body of an answer that is followed, a redirect's or a challenge's, does not count.
        if case DataSourceError.status = error { received += answer?.sampledByteCount ?? 0 }
        round += 1
        state = .consulting(.failed(error, cause))
    }

    private mutating func end(_ result: Result<HTTPURLResponse, any Error>) {
        round += 1
        state = .ending(result)
        actions.append(.conclude(result))
    }

    private mutating func succeed() throws(DataSourceError) {
        guard let answer else { return }
        let expected = request.requestedRange?.byteCount(of: answer.part?.total)
        // A part that is less than the request's range is a failure, unless the sink has asked for the rest.
        if let byteCount = answer.part?.byteCount, let expected, byteCount < expected {
            throw .truncated(url, received: byteCount, expected: expected)
        }
        end(.success(answer.response))
    }

    private mutating func use(_ reply: TransferReply, to question: TransferQuestion) throws {
        switch (question, reply) {
        case (.prepare, .failed(let error)): end(.failure(error))
        case (.failed(let error, _), .nothing), (.failed(let error, _), .failed): end(.failure(error))
        case (_, .failed(let error)): throw error
        case (_, .request(let next)):
            // The library's own request: redirects and challenges count anew.
            redirectCount = 0
            challengeCount = 0
            if case .failed = question { hasAccepted = false }
            send(next)
        case (.begin(let answer), .body(let before, let total)):
            progress.received = before + answer.received
            progress.expected = total
            try checkLimit(max(progress.received, total ?? 0))
            actions.append(.report)
            guard answer.isStaged else { return try accept() }
            state = .plain(.flushing)
            actions.append(.flush)
        case (.completed, .verify(let check)), (.unsatisfiable, .verify(let check)):
            round += 1
            state = .plain(.verifying)
            call(check)
        case (.completed, .complete), (.unsatisfiable, .complete): try succeed()
        case (.unsatisfiable(_, let failure), .nothing): throw failure
        case (_, .body), (_, .verify), (_, .complete), (_, .nothing):
            preconditionFailure("a sink has replied to another question")
        }
    }

    // MARK: Answers

    private func isAccepted(_ status: Int) -> Bool {
        let conditions = ["If-None-Match", "If-Modified-Since"]
        return options.acceptedStatuses.contains(status)
            || status == 304 && conditions.contains { request.value(forHTTPHeaderField: $0) != nil }
    }

    /// Whether the body of a redirect is wanted: it may be the answer.
    func wantsBody(of redirect: HTTPURLResponse) -> Bool {
        options.onRedirect != nil || isAccepted(redirect.statusCode)
    }

    private mutating func take(_ response: HTTPURLResponse) throws {
        silence.end()
        // An informational answer: the real one follows.
        if 100..<200 ~= response.statusCode { return }
        var answer = TransferAnswer(response: response.from(request.url))
        defer { self.answer = answer }
        guard isAccepted(response.statusCode), response.statusCode != 304 else {
            return state = .plain(.sampling)
        }
        let codings = response.contentCodings
        if options.storesAsSent, !canDeliverAsSent, !codings.isEmpty {
            let names = codings.joined(separator: ", ")
            throw DataSourceError.invalidRequest(
                url, reason: "the transport unpacks \(names), and cannot store it as it was sent")
        }
        let isDecoded = !options.storesAsSent && !codings.isEmpty
        answer.isDecoded = isDecoded
        if response.statusCode == 206 {
            answer.part = try answer.response.checkedPart(askedBy: request, isDecoded: isDecoded)
        }
        let length = try answer.response.announcedLength(for: request, isDecoded: isDecoded)
        answer.announced = answer.part?.byteCount ?? length
        try checkLimit(answer.announced ?? 0)
        // Anything but a 206 that comes in place of the rest is another answer.
        let validate = hasAccepted && response.statusCode == 206 ? nil : options.validateResponse
        answer.isStaged = validate != nil
        guard let validate else { return state = .consulting(.begin(answer)) }
        state = .plain(.staging)
        call { [response = answer.response] in try validate(response) }
    }

    private mutating func call(_ check: @escaping @Sendable () throws -> Void) {
        actions.append(
            .call {
                try check()
                return .resolved(nil)
            })
    }

    /// Counts a piece of the body, and passes it on.
    private mutating func take(_ data: Data) throws(DataSourceError) {
        let byteCount = Int64(data.count)
        answer?.received += byteCount
        received += byteCount
        let isStaging = phase == .staging
        if !isStaging { progress.received += byteCount }
        let whole = answer?.received ?? 0
        try checkLimit(max(whole, isStaging ? 0 : progress.received))
        if let announced = answer?.announced, whole > announced {
            throw .malformedResponse(url, reason: "a body of more than \(announced) bytes")
        }
        actions.append(isStaging || phase == .flushing ? .stage(data) : .deliver(data))
    }

    private func checkLimit(_ byteCount: Int64) throws(DataSourceError) {
        if let limit = options.maximumByteCount, byteCount > limit { throw .tooLarge(url, limit: limit) }
    }

    private mutating func endTask(_ error: (any Error)?) throws {
        silence.end()
        let failure: (any Error)? = error.map { TransportFailure(url, answer).translated($0) } ?? shortfall
        switch phase {
        // The first one counts.
        case .staging, .flushing: if answer?.end == nil { answer?.end = .some(error) }
        case .sampling: if let answer { try endSample(answer) }
        case .requesting: throw failure ?? DataSourceError.malformedResponse(url, reason: "no status")
        default:
            if let failure { throw failure }
            state = .consulting(.completed)
        }
    }

    /// Ends an exchange whose head is known, and of whose body no more will come.
    private mutating func endAnswered() throws {
        switch state {
        // Accepted, and the sink has not been asked yet: the end is taken when it has replied.
        case .consulting(.begin(var answer)):
            answer.end = .some(nil)
            self.answer = answer
            state = .consulting(.begin(answer))
        case .consulting: return
        default: try endTask(nil)
        }
    }

    /// The error for a body that has fewer bytes than announced.
    private var shortfall: DataSourceError? {
        guard let answer, let announced = answer.announced, answer.received < announced else { return nil }
        return .truncated(url, received: answer.received, expected: announced)
    }

    private mutating func accept() throws {
        if let answer, !hasAccepted { actions.append(.accept(answer.response)) }
        hasAccepted = true
        state = .plain(.receiving)
        if case .some(let error) = answer?.end { try endTask(error) }
    }

    // MARK: Answers that are not the one wanted

    /// Keeps the first bytes of the body.
    private mutating func sample(_ data: Data) throws {
        guard var answer else { return }
        answer.sampledByteCount += Int64(data.count)
        answer.sample.append(data.prefix(max(0, options.errorByteCount - answer.sample.count)))
        self.answer = answer
        if answer.sample.count >= options.errorByteCount { try endSample(answer) }
    }

    private mutating func endSample(_ answer: TransferAnswer) throws {
        let response = answer.response
        if isAccepted(response.statusCode) { return state = .consulting(.completed) }
        let failure = DataSourceError.status(.init(response, url: url, body: answer.sample))
        if let next = try request.redirected(by: response) {
            guard let onRedirect = options.onRedirect else { return try follow(next) }
            let redirect = TransferRedirect(
                request: request, response: response, next: next, count: redirectCount + 1)
            return ask(.redirect, orElse: failure) {
                try onRedirect(redirect).map { $0.request(of: redirect) }
            }
        }
        if response.statusCode == 401, let onChallenge = options.onChallenge, challengeCount < 3 {
            challengeCount += 1
            let challenge = AuthenticationChallenge(
                request: request, response: response, attempt: challengeCount)
            return ask(.credentials, orElse: failure) { try onChallenge(challenge) }
        }
        guard response.statusCode == 416 else { throw failure }
        state = .consulting(.unsatisfiable(response, orElse: failure))
    }

    private mutating func ask(
        _ decision: TransferDecision, orElse failure: DataSourceError,
        _ question: @escaping @Sendable () throws -> Deferred<URLRequest?>
    ) {
        round += 1
        state = .asking(decision, orElse: failure)
        actions.append(.call(question))
    }

    private mutating func use(_ returned: Result<URLRequest?, any Error>) throws {
        switch (state, returned) {
        case (.plain(.staging), .failure(let error)): fail(error, .refusal)
        case (.plain(.verifying), .failure(let error)): fail(error, .verification)
        case (_, .failure(let error)): end(.failure(error))
        case (.plain(.preparing), _): state = .consulting(.prepare)
        case (.plain(.staging), _): if let answer { state = .consulting(.begin(answer)) }
        case (.asking(_, let failure), .success(nil)): throw failure
        case (.asking(let decision, _), .success(let next?)):
            if decision == .redirect, next.url?.isHTTP != true || next.url?.host?.isEmpty != false {
                throw DataSourceError.invalidRedirect(url, location: next.errorURL.absoluteString)
            }
            try next.checkedAddress()
            try next.checkFraming(options)
            switch decision {
            case .redirect: try follow(next)
            case .credentials: send(next)
            }
        default: try succeed()
        }
    }

    private mutating func follow(_ next: URLRequest) throws(DataSourceError) {
        let limit = options.maximumRedirectCount
        guard redirectCount < limit else { throw .tooManyRedirects(url, count: limit, last: next.errorURL) }
        redirectCount += 1
        send(next)
    }

    // MARK: Silence

    /// Whether the transfer waits for the server, or for `onRedirect`. The time that the consumer or another closure
    /// takes does not count as silence.
    private var countsSilence: Bool {
        if case .asking(.redirect, _) = state { return true }
        return [.requesting, .staging, .flushing, .receiving, .sampling].contains(phase)
    }
}
