internal import Deferred
internal import Foundation

/// Executes a ``TransferStateMachine``: passes it what the transport, the timers, the sink and the user's
/// closures report, and performs the actions that it returns, under one lock.
///
/// The sink is called under the lock, so that when `stop()` has returned nothing more is written. Nothing of
/// the user's is: closures run on the transfer's queue, those that verify on one of their own, and timers are
/// cancelled when the lock has been released. The end is on the transfer's queue, or on a global one after a failure,
/// which does not wait for a closure that never returns. The transport is called on the session's queue, without the
/// lock; its threads, which report events, neither wait nor run callbacks.
///
/// Sound as `@unchecked Sendable`: `storage` changes in `deinit` only.
final class Transfer: TransportListener, @unchecked Sendable {
    typealias Machine = TransferStateMachine
    typealias Outcome = Result<HTTPURLResponse, any Error>

    /// Not copied: a copy would not change with it, and the code to make one is large.
    struct Core: ~Copyable {
        var machine: Machine
        let sink: any TransferSink
        /// The present task.
        var task: (any TransportTask)?
        /// What has arrived of an answer that is not accepted yet.
        var stage = ByteQueue(limit: 1 << 20)
        /// The file that a form was written to.
        var form: PartFile?
        /// The streams of the requests so far: if the present one has a stream, it is the last. They can't be sent
        /// again, and are kept until the end, since they may be of a class of the user's.
        var sentStreams: [InputStream] = []
        /// Waits for what a closure of the user's has returned.
        var question: Deferred<Void>?
        /// That of the next tick of the silence, and that of the total limit.
        var timers: [(any DelayedWork)?] = [nil, nil]
        var metrics = TransferMetrics()
        var isReporting = false
        /// When the user was last notified of the progress.
        var reported: Duration?
        var outcome: Outcome?
        /// The sink's file, to be closed without the lock.
        var discarded: PartFile?
        /// Receives the outcome, once; not if the transfer is stopped.
        var completion: (@Sendable (Outcome) -> Void)?
    }

    /// Nil in `deinit` only.
    private var storage: Locked<Core>?
    private var core: Locked<Core> { storage! }
    private let session: TransferSession
    /// The task-local values of the request's call, which the user's closures see (X2).
    private let values = DeferredTaskLocals.carried
    private let queue = DispatchQueue(label: "DeferredOperations.Transfer", target: .global())

    init(
        _ request: URLRequest, _ options: TransferOptions, _ session: TransferSession,
        into sink: any TransferSink
    ) {
        storage = Locked(
            Core(
                machine: Machine(
                    request, options, canPause: session.transport.canPause,
                    canDeliverAsSent: session.transport.canDeliverAsSent), sink: sink))
        self.session = session
    }

    deinit {
        // The last reference may be released on one of the transport's queues, where all transfers wait. What the
        // user's closures capture is released on the transfer's own: the block has the last reference to it.
        // Sound: released once, by the block; the property's own reference is gone before that.
        let rest = Unmanaged.passRetained(core)
        storage = nil
        queue.async { rest.release() }
    }

    var metrics: TransferMetrics {
        core.withLock { core in
            var metrics = core.metrics
            metrics.received = core.machine.received
            metrics.status = core.machine.answer?.response.statusCode
            return metrics
        }
    }

    private var hasEnded: Bool { core.withLock { $0.machine.hasEnded } }

    /// Whether it has been stopped, or its outcome is being passed on.
    var isOver: Bool { core.withLock { $0.machine.phase == .over } }

    /// Runs `body` under the lock, and returns what it returns; nil if that round is over: what began in it decides
    /// nothing any more.
    @discardableResult
    private func inRound<R>(_ round: Int, _ body: (inout Core) -> R) -> R? {
        core.withLock { $0.machine.round == round ? body(&$0) : nil }
    }

    func isCurrent(_ round: Int) -> Bool { inRound(round) { _ in } != nil }

    /// Runs a closure of the user's with the task-local values that the request's call had.
    private func asRequested<R>(_ body: () throws -> R) throws -> R {
        try values?.run(body) ?? body()
    }

    private func asRequested(_ body: () -> Void) {
        if let values { values.run(body) } else { body() }
    }

    // MARK: Starting and ending

    /// Starts the transfer, unless it has been stopped.
    ///
    /// - Parameter completion: Receives the outcome, once, on the transfer's queue, a failure on a global one; not if
    ///   the transfer is stopped.
    func start(requestedAt: Duration?, completion: @escaping @Sendable (Outcome) -> Void) {
        let begun = core.withLock { core -> (options: TransferOptions, silence: Duration?, url: URL)? in
            guard core.machine.phase == .preparing else { return nil }
            core.completion = completion
            core.metrics.requestedAt = requestedAt
            core.metrics.startedAt = TransferMetrics.now
            return (core.machine.options, core.machine.silence.limit, core.machine.url)
        }
        guard let (options, silence, url) = begun else { return }
        if let total = options.totalTimeout { setTimer(.total(total), options.timer) }
        if let silence { setTimer(.silence(silence), options.timer) }
        let prepared = Result<URLRequest?, any Error> {
            guard let form = options.uploadForm else { return nil }
            // It is removed when the transfer ends.
            let file = try PartFile.temporary("upload")
            guard inRound(0, { $0.form = file }) != nil else { throw CancellationError() }
            #if canImport(FoundationNetworking)
            // It is sent by its descriptor: nothing is left of it if the process is killed.
            file.remove()
            #endif
            try form.write(to: file, for: url) { !isCurrent(0) }
            return nil
        }
        handle(.returned(prepared), of: 0)
    }

    /// Ends the transfer: with the outcome that is decided by `concluded`, or by `stop`, in which case its
    /// completion is not called. When this returns after a stop, nothing more is written, and what was
    /// written has been removed, the file at its destination included if this transfer had put it there.
    func end(by event: TransferEvent) {
        // Taken out under the lock, and cancelled, closed, called and released without it: timers and closures are the
        // user's.
        let (timers, _, form, outcome, completion, onProgress, last) = core.withLock { core in
            run(event, &core)
            core.metrics.endedAt = core.metrics.endedAt ?? TransferMetrics.now
            defer { core.timers = [] }
            return (
                core.timers, core.discarded.take(), core.form.take(), core.outcome.take(),
                core.completion.take(), core.machine.options.onProgress, core.machine.progress
            )
        }
        for timer in timers { timer?.cancel() }
        form?.remove()
        guard let outcome else { return }
        if outcome.isSuccess, let onProgress { asRequested { onProgress(last) } }
        completion?(outcome)
    }

    // MARK: Events and actions

    func handle(_ event: TransferEvent, of round: Int? = nil) {
        core.withLock { run(event, of: round, &$0) }
    }

    func receive(_ event: TransportEvent, of round: Int) {
        switch event {
        case .head(let response): receive(response, of: round)
        case .bytes(let data): receive(data, of: round)
        case .sent(let byteCount): handle(.sent(byteCount), of: round)
        case .metrics(let metrics): inRound(round) { $0.metrics.add(metrics) }
        case .redirect(let response), .challenge(let response): end(.answered(response), of: round)
        case .end(let error): end(.completed(error), of: round)
        }
    }

    /// Receives the head of an answer.
    private func receive(_ response: HTTPURLResponse, of round: Int) {
        inRound(round) { core in
            if core.machine.phase == .requesting { noteHead(&core) }
            run(.head(response), &core)
        }
    }

    private func noteHead(_ core: inout Core) {
        core.metrics.respondedAt = TransferMetrics.now
        core.metrics.firstByteAt = nil
    }

    /// Receives the next piece of the body, and returns when the session's limit allows another one.
    private func receive(_ data: Data, of round: Int) {
        guard let pacer = session.pacer else { return take(data, of: round) }
        pacer.pace(data.count, while: { isCurrent(round) }) { take(data, of: round) }
    }

    private func take(_ data: Data, of round: Int) {
        if data.isEmpty { return }
        let sink = inRound(round) { core in
            if core.metrics.firstByteAt == nil { core.metrics.firstByteAt = TransferMetrics.now }
            run(.bytes(data), &core)
            return core.sink
        }
        sink?.deliver()
    }

    /// Receives the end of an exchange: a body stream that has failed is the cause of whatever that is.
    private func end(_ event: TransferEvent, of round: Int) {
        guard let (stream, url) = inRound(round, { ($0.sentStreams.last, $0.machine.url) }) else { return }
        // A stream may be of a class of the user's, so it is read without the lock.
        if let fault = stream?.fault(to: url) { return handle(.completed(fault), of: round) }
        inRound(round) { core in
            if case .answered = event, core.machine.phase == .requesting { noteHead(&core) }
            run(event, &core)
        }
    }

    func abandon(_ round: Int) {
        inRound(round) { core in
            let lost = DataSourceError.connectionLost(
                core.machine.url, reason: "the transport has released the request before its end")
            run(.completed(lost), &core)
        }
    }

    /// Has the machine handle an event, drops what belongs to an earlier round, performs the actions, and asks the sink
    /// if the machine consults it. An action that has the machine handle another event is the last one.
    private func run(_ event: TransferEvent, of round: Int? = nil, _ core: inout Core) {
        let previous = core.machine.round
        let actions = core.machine.handle(event, of: round)
        if core.machine.round != previous {
            core.stage.removeAll()
            if let task = core.task.take() { session.control.async { task.cancel() } }
            if let question = core.question.take() { DispatchQueue.global().async { question.cancel() } }
        }
        for action in actions {
            do { try perform(action, &core) } catch { run(.failed(error), &core) }
        }
        guard case .consulting(let question) = core.machine.state else { return }
        let reply: TransferReply
        do { reply = try core.sink.reply(to: question) } catch { reply = .failed(error) }
        run(.sinkReplied(reply), &core)
    }

    /// Performs an action. What this throws is a failure of the transfer.
    private func perform(_ action: Machine.Action, _ core: inout Core) throws {
        switch action {
        case .deliver(let data):
            reportProgress(&core)
            if try core.sink.receive(data) { run(.full, &core) }
        case .stage(let data): try core.stage.append(data)
        case .send(let request): send(request, core.machine.round)
        case .openBody(let request): addBody(to: request, &core)
        case .flush: queue.async { [self, round = core.machine.round] in flush(round) }
        case .suspend: if let task = core.task { session.control.async { task.pause() } }
        case .resume: if let task = core.task { session.control.async { task.resume() } }
        case .accept(let response):
            guard let onHead = core.sink.onHead else { return }
            queue.async { [self] in if !hasEnded { onHead(response) } }
        case .call(let closure): call(closure, &core)
        case .report: reportProgress(&core)
        case .conclude(let result):
            core.metrics.endedAt = TransferMetrics.now
            (result.isSuccess ? queue : .global()).async { [self] in end(by: .concluded) }
        case .close(let result):
            core.outcome = result
            if result.isSuccess {
                do { return try core.sink.finish() } catch { core.outcome = .failure(error) }
            }
            core.discarded = core.sink.discard()
        case .discard: core.discarded = core.sink.discard()
        }
    }

    /// Passes what is staged to the sink, on the transfer's queue, one piece after another: a cancel waits for one of
    /// them at most.
    private func flush(_ round: Int) {
        let isMore = inRound(round) { core in
            do {
                let pieces = try core.stage.take()
                for piece in pieces ?? [] { _ = try core.sink.receive(piece) }
                if pieces == nil { run(.flushed, &core) }
            } catch {
                run(.failed(error), &core)
            }
            return core.machine.phase == .flushing
        }
        core.withLock { $0.sink }.deliver()
        if isMore == true { queue.async { [self] in flush(round) } }
    }

    /// Calls a closure of the user's, and waits for the Deferred that it returns.
    private func call(_ closure: @escaping @Sendable () throws -> Deferred<URLRequest?>, _ core: inout Core) {
        let round = core.machine.round
        // A verification may take long: it gets a thread of its own, and leaves those of global queues to others.
        let isLong = core.machine.phase == .verifying
        let queue = isLong ? DispatchQueue(label: "DeferredOperations.Verification") : queue
        queue.async { [self] in
            // Only the attached link is kept, and cancelled: a handle could complete the answer, and retained here it
            // would keep one that nobody else can complete from being abandoned (A1).
            let consumer = Deferred<URLRequest?>(following: { try asRequested(closure) }).both {
                [self] (result: Result<URLRequest?, any Error>) -> Void in
                handle(.returned(result), of: round)
            }
            if inRound(round, { $0.question = consumer }) == nil { consumer.cancel() }
        }
    }

    // MARK: Tasks

    /// Makes, opens and checks a body that is a stream or a file, and sends the request. On the transfer's queue: a
    /// stream may be of a class of the user's, and a file may have gone since the first request.
    private func addBody(to request: URLRequest, _ core: inout Core) {
        let (round, body) = (core.machine.round, TransferBody(core.machine.options, core.form))
        queue.async { [self] in
            do {
                let request = try asRequested { try body.added(to: request) }
                let sentBefore = self.core.withLock { $0.sentStreams }
                try request.openBodyStream(unlessIn: sentBefore)
                send(request, round)
            } catch {
                handle(.returned(.failure(error)), of: round)
            }
        }
    }

    /// Has the transport send a request, on the session's queue.
    private func send(_ request: URLRequest, _ round: Int) {
        session.control.async { [self] in
            let body = TransportBody(of: request)
            var request = request
            if case .none = body {} else { request.removeBody() }
            let isWanted: Void? = inRound(round) { core in
                if case .stream(let stream, _) = body { core.sentStreams.append(stream) }
                core.metrics.requestCount += 1
            }
            guard isWanted != nil else { return }
            let task = session.transport.send(request, body, for: TransportExchange(self, round))
            // Events may have come meanwhile: of a pause that nobody could be told of, and of the end.
            let isPaused = inRound(round) { core in
                core.task = task
                return core.machine.phase == .paused
            }
            guard let isPaused else { return task.cancel() }
            if isPaused { task.pause() }
        }
    }

    // The transport repeats a request by itself if the server has closed a connection that was kept from an earlier one.
    // What cannot be made again ends the transfer: Foundation does not end the task then.
    func makeBodyStream(of round: Int, _ use: @escaping @Sendable (InputStream?) -> Void) {
        let made = inRound(round) { core in
            (TransferBody(core.machine.options, core.form), core.machine.request, core.machine.url)
        }
        guard let (body, request, url) = made else { return use(nil) }
        queue.async { [self] in
            let again = body.canBeMadeAgain ? try? asRequested { try body.added(to: request) } : nil
            let stream = again?.httpBodyStream
            if let stream { inRound(round) { $0.sentStreams.append(stream) } }
            let lost = DataSourceError.connectionLost(
                url, reason: "closed without an answer, and kept before")
            if stream == nil { handle(.completed(lost), of: round) }
            use(stream)
        }
    }

    var storesAsSent: Bool { core.withLock { $0.machine.options.storesAsSent } }

    func wantsBody(of response: HTTPURLResponse) -> Bool {
        core.withLock { $0.machine.wantsBody(of: response) }
    }

    // MARK: Time

    /// Sets the timer of a limit, or of the next tick of the silence, unless the transfer has ended meanwhile. Timers
    /// are the user's: what is cancelled or released, is so without the lock.
    private func setTimer(_ limit: DataSourceError.TimeLimit, _ dispatcher: any DelayedDispatcher) {
        let (index, delay) =
            switch limit {
            case .silence(let time): (0, time / TransferSilence.ticks)
            case .total(let time): (1, time)
            }
        let timer = dispatcher.dispatch(after: delay) { [weak self] in
            guard let self else { return }
            if case .total(let time) = limit { return handle(.limitPassed(time)) }
            handle(.tick(isHeldUp: session.delayedCalls.withLock { $0 > 0 }))
            if !hasEnded { setTimer(limit, dispatcher) }
        }
        let (isWanted, _) = core.withLock { core -> (Bool, (any DelayedWork)?) in
            if core.machine.hasEnded { return (false, nil) }
            defer { core.timers[index] = timer }
            return (true, core.timers[index])
        }
        if !isWanted { timer.cancel() }
    }

    /// The shortest time between two reports: there may be tens of thousands of pieces in a second.
    private static let reportInterval = Duration.milliseconds(20)

    /// Has `onProgress` called, unless a call is pending.
    private func reportProgress(_ core: inout Core) {
        guard let onProgress = core.machine.options.onProgress, !core.isReporting else { return }
        core.isReporting = true
        let pause = core.reported.map { $0 + Self.reportInterval - TransferMetrics.now } ?? .zero
        queue.asyncAfter(deadline: .now() + max(0, pause / .seconds(1))) { [self] in
            let progress = self.core.withLock { core -> TransferProgress? in
                core.isReporting = false
                core.reported = TransferMetrics.now
                return core.machine.hasEnded ? nil : core.machine.progress
            }
            if let progress { asRequested { onProgress(progress) } }
        }
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
