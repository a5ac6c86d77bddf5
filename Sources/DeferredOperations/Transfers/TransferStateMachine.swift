internal import Deferred
internal import Foundation

/// One transfer: a request, the redirects and challenges that it meets, and the body of the last answer, which a
/// sink receives.
///
/// A value without locks, timers, tasks or files: ``Transfer`` passes it events, one at a time, and performs
/// the actions that each returns, in order. ``targets(of:in:)`` has an entry for each state and event;
/// Documentation/Transfers.md has the diagram, which is generated from it.
///
/// - A *round* is one task, or one call of a closure of the user's. Whatever replaces it begins another
///   round; events of an earlier one are dropped.
/// - A *consultation* of the sink is answered before any other event.
/// - Redirects and challenges are counted from the last request that the library made of its own accord (O7).
struct TransferStateMachine: ~Copyable {
    enum Action {
        case consult(Question)
        case send(URLRequest)
        /// Cancel the task, and what a closure of the user's has returned.
        case drop
        case stage(Data)
        case flush
        case deliver(Data)
        case suspend
        case resume
        /// Notify the sink of the head of the accepted answer.
        case accept(HTTPURLResponse)
        /// Check the head of an answer, or the whole.
        case check(@Sendable () throws -> Void)
        /// Call a closure of the user's, and wait for what it returns: the next request.
        case ask(@Sendable () throws -> Deferred<URLRequest?>)
        case report
        /// Have `concluded` follow: after the closures of the user's if this is a success.
        case conclude(Result<HTTPURLResponse, any Error>)
        /// Move what the sink has into place, or remove it.
        case close(Result<HTTPURLResponse, any Error>)
        case discard
    }

    private(set) var state = State.plain(.idle)
    private(set) var round = 0
    private(set) var request: URLRequest
    private(set) var answer: Answer?
    private(set) var progress = TransferProgress()
    /// How many bytes of bodies have been received, over all requests.
    private(set) var received: Int64 = 0
    let options: TransferOptions
    /// How long a silence is allowed; nil for any.
    let silence: Duration?
    /// Whether a task can be suspended. Where it can't (swift-corelibs-foundation would send the request
    /// again), a pause cancels it, and the rest is requested later.
    private let suspendsTasks: Bool
    private var redirectCount = 0
    private var challengeCount = 0
    /// Whether an answer has been accepted: the rest of its body is not validated again.
    private var hasAccepted = false
    private var wasHeard = false
    private var silentTicks = 0
    private var actions: [Action] = []

    /// The silence allowed is counted in so many ticks: each piece of a body only sets a flag.
    static let silenceTicks = 8

    init(_ request: URLRequest, _ options: TransferOptions, suspendsTasks: Bool = Self.suspendsTasks) {
        self.request = request
        self.options = options
        self.suspendsTasks = suspendsTasks
        let interval = request.timeoutInterval
        silence =
            options.silenceTimeout
            ?? (interval.isFinite && interval < 1e9 ? .seconds(interval > 0 ? interval : 60) : nil)
    }

    #if canImport(FoundationNetworking)
    static let suspendsTasks = false
    #else
    static let suspendsTasks = true
    #endif

    var phase: Phases { state.phase }

    /// Whether the outcome is decided.
    var hasEnded: Bool { phase.isSubset(of: .ended) }

    /// The address that is being asked now, after redirects, as errors name it.
    var url: URL { request.errorURL }

    /// Takes an event, and returns what is to be done, in this order.
    ///
    /// - Parameter round: Of what the event is about; nil for an event of the whole transfer.
    mutating func handle(_ event: Event, of round: Int? = nil) -> [Action] {
        if let round, round != self.round { return [] }
        let phase = phase
        guard let targets = Self.targets(of: event, in: phase) else {
            assertionFailure("\(event) in \(state)")
            return []
        }
        if targets.isEmpty { return [] }
        step(event)
        assert(targets.contains(self.phase), "\(event) in \(phase) led to \(state)")
        defer { actions = [] }
        return actions
    }

    private mutating func step(_ event: Event) {
        switch event {
        case .start: state = .plain(.preparing)
        case .prepared: consult(.prepare)
        case .failed(let error, let cause): fail(error, cause)
        case .sinkReplied(let reply): if case .consulting(let question) = state { use(reply, to: question) }
        case .head(let response): take(response)
        case .bytes(let data): take(data)
        case .sent(let byteCount):
            wasHeard = true
            progress.sent = byteCount
            actions.append(.report)
        case .completed(let error): endTask(error)
        case .checked(let error?): fail(error, phase == .staging ? .refusal : .verification)
        case .checked(nil) where phase == .verifying: succeed()
        case .checked(nil): if let answer { consult(.begin(answer)) }
        case .flushed:
            // What has arrived meanwhile was counted, and no report of it has been made.
            actions.append(.report)
            accept()
        case .full:
            state = .plain(.paused)
            if suspendsTasks { actions.append(.suspend) } else { replaceRound() }
        case .room where !suspendsTasks: consult(.completed)
        case .room:
            state = .plain(.receiving)
            actions.append(.resume)
        case .answered(let answer): use(answer)
        case .tick(let isHeldUp): countSilence(isHeldUp)
        case .limitPassed(let limit): end(.failure(DataSourceError.timedOut(url, .total(limit))))
        case .stop:
            replaceRound()
            state = .plain(.over)
            actions.append(.discard)
        case .concluded:
            guard case .ending(let result) = state else { return }
            state = .plain(.over)
            actions.append(.close(result))
        }
    }

    // MARK: Requests

    private mutating func replaceRound() {
        round += 1
        actions.append(.drop)
    }

    private mutating func send(_ request: URLRequest) {
        replaceRound()
        self.request = request
        answer = nil
        silentTicks = 0
        state = .plain(.requesting)
        actions.append(.send(request))
    }

    private mutating func consult(_ question: Question) {
        state = .consulting(question)
        actions.append(.consult(question))
    }

    private mutating func fail(_ error: any Error, _ cause: FailureCause = .transfer) {
        if cause == .closure { return end(.failure(error)) }
        replaceRound()
        consult(.failed(error, cause))
    }

    private mutating func end(_ result: Result<HTTPURLResponse, any Error>) {
        replaceRound()
        state = .ending(result)
        actions.append(.conclude(result))
    }

    private mutating func succeed() {
        if let answer { end(.success(answer.response)) }
    }

    private mutating func use(_ reply: Reply, to question: Question) {
        switch (question, reply) {
        case (.prepare, .failed(let error)): end(.failure(error))
        case (.failed(let error, _), .nothing), (.failed(let error, _), .failed): end(.failure(error))
        case (_, .failed(let error)): fail(error)
        case (_, .request(let next)):
            // The library's own request: redirects and challenges count anew.
            redirectCount = 0
            challengeCount = 0
            if case .failed = question { hasAccepted = false }
            send(next)
        case (.begin(let answer), .body(let before, let total)):
            progress.received = before + answer.received
            progress.expected = total
            if let limit = options.maximumByteCount, max(progress.received, total ?? 0) > limit {
                return fail(DataSourceError.tooLarge(url, limit: limit))
            }
            actions.append(.report)
            guard answer.isStaged else { return accept() }
            state = .plain(.flushing)
            actions.append(.flush)
        case (.completed, .verify(let check)), (.unsatisfiable, .verify(let check)):
            replaceRound()
            state = .plain(.verifying)
            actions.append(.check(check))
        case (.completed, .complete), (.unsatisfiable, .complete): succeed()
        case (.unsatisfiable(_, let failure), .nothing): fail(failure)
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

    private mutating func take(_ response: HTTPURLResponse) {
        wasHeard = true
        // An informational answer: the real one follows.
        if 100..<200 ~= response.statusCode { return }
        var answer = Answer(response: response.from(request.url))
        self.answer = answer
        guard isAccepted(response.statusCode), response.statusCode != 304 else {
            return state = .plain(.sampling)
        }
        do {
            answer.part = try answer.response.checkedPart(askedBy: request)
            answer.announced =
                try answer.part?.bytes.map { $0.upperBound - $0.lowerBound + 1 }
                ?? answer.response.announcedLength(for: request)
        } catch {
            return fail(error)
        }
        if let limit = options.maximumByteCount, let announced = answer.announced, announced > limit {
            return fail(DataSourceError.tooLarge(url, limit: limit))
        }
        // Anything but a 206 that comes in place of the rest is another answer.
        let validate = hasAccepted && response.statusCode == 206 ? nil : options.validateResponse
        answer.isStaged = validate != nil
        self.answer = answer
        guard let validate else { return consult(.begin(answer)) }
        state = .plain(.staging)
        actions.append(.check { [response = answer.response] in try validate(response) })
    }

    private mutating func take(_ data: Data) {
        wasHeard = true
        switch phase {
        case .staging, .flushing: if count(data) { actions.append(.stage(data)) }
        case .receiving, .paused: if count(data) { actions.append(.deliver(data)) }
        default:
            guard var answer else { return }
            answer.sample.append(data.prefix(max(0, options.errorByteCount - answer.sample.count)))
            self.answer = answer
            if answer.sample.count >= options.errorByteCount { endSample(answer) }
        }
    }

    /// Counts a piece of the body; false if it is too much.
    private mutating func count(_ data: Data) -> Bool {
        let byteCount = Int64(data.count)
        answer?.received += byteCount
        received += byteCount
        let isStaging = phase == .staging
        if !isStaging { progress.received += byteCount }
        let whole = answer?.received ?? 0
        if let limit = options.maximumByteCount, max(whole, isStaging ? 0 : progress.received) > limit {
            fail(DataSourceError.tooLarge(url, limit: limit))
            return false
        }
        if let announced = answer?.announced, whole > announced {
            fail(DataSourceError.malformedResponse(url, reason: "a body of more than \(announced) bytes"))
            return false
        }
        return true
    }

    private mutating func endTask(_ error: (any Error)?) {
        wasHeard = true
        var failure: (any Error)? = shortfall
        if let error { failure = self.failure(for: error) }
        switch phase {
        case .staging, .flushing: answer?.end = .some(failure)
        case .sampling: if let answer { endSample(answer) }
        case .requesting: fail(failure ?? DataSourceError.malformedResponse(url, reason: "no status"))
        default: endBody(failure)
        }
    }

    /// The error for a body that has fewer bytes than announced.
    private var shortfall: DataSourceError? {
        guard let answer, let announced = answer.announced, answer.received < announced else { return nil }
        return .truncated(url, received: answer.received, expected: announced)
    }

    private mutating func endBody(_ failure: (any Error)?) {
        if let failure { fail(failure) } else { consult(.completed) }
    }

    private mutating func accept() {
        if let answer, !hasAccepted { actions.append(.accept(answer.response)) }
        hasAccepted = true
        state = .plain(.receiving)
        if case .some(let failure) = answer?.end { endBody(failure) }
    }

    // MARK: Answers that are not the one wanted

    private mutating func endSample(_ answer: Answer) {
        let response = answer.response
        if isAccepted(response.statusCode) { return consult(.completed) }
        let failure = DataSourceError.status(.init(response, url: url, body: answer.sample))
        do {
            if let next = try request.redirected(by: response) {
                guard let onRedirect = options.onRedirect else { return follow(next) }
                let redirect = TransferRedirect(
                    request: request, response: response, next: next, count: redirectCount + 1)
                return ask(.redirect, orElse: failure) {
                    try onRedirect(redirect).map { $0.request(of: redirect) }
                }
            }
        } catch {
            return fail(error)
        }
        if response.statusCode == 401, let onChallenge = options.onChallenge, challengeCount < 3 {
            challengeCount += 1
            let challenge = AuthenticationChallenge(
                request: request, response: response, attempt: challengeCount)
            return ask(.credentials, orElse: failure) { try onChallenge(challenge) }
        }
        if response.statusCode == 416 { return consult(.unsatisfiable(response, orElse: failure)) }
        fail(failure)
    }

    private mutating func ask(
        _ decision: Decision, orElse failure: DataSourceError,
        _ question: @escaping @Sendable () throws -> Deferred<URLRequest?>
    ) {
        replaceRound()
        state = .asking(decision, orElse: failure)
        actions.append(.ask(question))
    }

    private mutating func use(_ answer: Result<URLRequest?, any Error>) {
        guard case .asking(let decision, let failure) = state else { return }
        switch (answer, decision) {
        case (.failure(let error), _): end(.failure(error))
        case (.success(nil), _): fail(failure)
        case (.success(let next?), .redirect):
            guard next.url?.isHTTP == true, next.url?.host?.isEmpty == false else {
                let location = next.url?.absoluteString ?? ""
                return fail(DataSourceError.invalidRedirect(url, location: location.withoutUserInfo))
            }
            follow(next)
        case (.success(let next?), .credentials):
            do { try next.checkedAddress() } catch { return fail(error) }
            send(next)
        }
    }

    private mutating func follow(_ next: URLRequest) {
        let limit = options.maximumRedirectCount
        guard redirectCount < limit else {
            return fail(DataSourceError.tooManyRedirects(url, count: limit, last: next.errorURL))
        }
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

    private mutating func countSilence(_ isHeldUp: Bool) {
        silentTicks = wasHeard || isHeldUp || !countsSilence ? 0 : silentTicks + 1
        wasHeard = false
        guard silentTicks >= Self.silenceTicks, let silence else { return }
        fail(DataSourceError.timedOut(url, .silence(silence)))
    }
}
