internal import Deferred
internal import Foundation

/// Executes a ``TransferStateMachine``: passes it what the session, the timers, the sink and the user's
/// closures report, and performs the actions that it returns, under one lock.
///
/// The sink is called under the lock, so that when `stop()` has returned nothing more is written. Nothing of
/// the user's is: closures run on the transfer's queue, and timers are cancelled when the lock has been
/// released. The end is on that queue, or on a global one after a failure, which does not wait for a closure
/// that never returns. The session's queue neither waits nor runs callbacks.
///
/// Sound as `@unchecked Sendable`: `storage` changes in `deinit` only.
final class Transfer: @unchecked Sendable {
    typealias Machine = TransferStateMachine

    /// Not copied: a copy would not change with it, and the code to make one is large.
    struct Core: ~Copyable {
        var machine: Machine
        let sink: any TransferSink
        /// The present task.
        var task: URLSessionTask?
        /// What has arrived of an answer that is not accepted yet.
        var stage = ByteQueue(limit: 1 << 20)
        var body = UploadBody()
        /// Waits for what a closure of the user's has returned.
        var question: Deferred<Void>?
        /// That of the next tick of the silence, and that of the total limit.
        var timers: [(any DelayedWork)?] = [nil, nil]
        var metrics = TransferMetrics()
        var isReporting = false
        /// When the user was last notified of the progress.
        var reported: Duration?
        var outcome: Result<HTTPURLResponse, any Error>?
        /// The sink's file, to be closed without the lock.
        var discarded: PartFile?
        /// Receives the outcome, once; not if the transfer is stopped.
        var completion: (@Sendable (Result<HTTPURLResponse, any Error>) -> Void)?
    }

    /// Nil in `deinit` only.
    private var storage: Locked<Core>?
    var core: Locked<Core> { storage! }
    let session: TransferSession
    let queue = DispatchQueue(label: "DeferredOperations.Transfer", target: .global())

    init(
        _ request: URLRequest, _ options: TransferOptions, _ session: TransferSession,
        into sink: any TransferSink
    ) {
        storage = Locked(Core(machine: Machine(request, options), sink: sink))
        self.session = session
    }

    deinit {
        // The last reference may be released on one of the session's queues, where all transfers wait. What the user's
        // closures capture is released on the transfer's own: the block has the last reference to it.
        // Sound: released once, by the block; the property's own reference is gone before that.
        let rest = Unmanaged.passRetained(core)
        storage = nil
        queue.async { rest.release() }
    }

    var metrics: TransferMetrics {
        core.withLock { core in
            var metrics = core.metrics
            metrics.received = core.machine.received
            return metrics
        }
    }

    /// Whether what began in that round may still decide something.
    func isCurrent(_ round: Int) -> Bool { core.withLock { $0.machine.round == round } }

    // MARK: Starting and ending

    /// Starts the transfer, unless it has been stopped.
    ///
    /// - Parameter completion: Receives the outcome, once, on the transfer's queue, a failure on a global one; not if
    ///   the transfer is stopped.
    func start(
        requestedAt: Duration?,
        completion: @escaping @Sendable (Result<HTTPURLResponse, any Error>) -> Void
    ) {
        let begun = core.withLock { core -> (options: TransferOptions, silence: Duration?, url: URL)? in
            run(.start, &core)
            guard core.machine.phase == .preparing else { return nil }
            core.completion = completion
            core.metrics.requestedAt = requestedAt
            core.metrics.startedAt = TransferMetrics.now
            return (core.machine.options, core.machine.silence, core.machine.url)
        }
        guard let (options, silence, url) = begun else { return }
        if let total = options.totalTimeout { limit(to: total, options.timer) }
        if let silence { listen(for: silence, options.timer) }
        do {
            if let form = options.uploadForm {
                // It is removed when the transfer ends.
                let file = try PartFile.temporary("upload")
                core.withLock { $0.body.form = file }
                try form.write(to: file, for: url) { core.withLock { $0.machine.phase != .preparing } }
            }
            handle(.prepared)
        } catch {
            handle(.failed(error, .closure))
        }
    }

    /// Ends the transfer: with the outcome that is decided by `concluded`, or by `stop`, in which case its
    /// completion is not called. When this returns after a stop, nothing more is written, and what was
    /// written has been removed, the file at its destination included if this transfer had put it there.
    func end(by event: Machine.Event) {
        // Taken out under the lock, and cancelled, closed, called and released without it: timers and closures are the
        // user's.
        let (timers, discarded, form, outcome, completion, onProgress, last) = core.withLock { core in
            run(event, &core)
            core.metrics.endedAt = core.metrics.endedAt ?? TransferMetrics.now
            defer { core.timers = [] }
            return (
                core.timers, core.discarded.take(), core.body.form.take(), core.outcome.take(),
                core.completion.take(), core.machine.options.onProgress, core.machine.progress
            )
        }
        for timer in timers { timer?.cancel() }
        discarded?.close()
        form?.remove()
        guard let outcome else { return }
        if outcome.isSuccess { onProgress?(last) }
        completion?(outcome)
    }

    // MARK: Events and actions

    func handle(_ event: Machine.Event, of round: Int? = nil) {
        core.withLock { run(event, of: round, &$0) }
    }

    /// Receives the head of an answer.
    func receive(_ response: HTTPURLResponse, of round: Int) {
        core.withLock { core in
            guard core.machine.round == round, core.machine.phase == .requesting else { return }
            core.metrics.respondedAt = TransferMetrics.now
            core.metrics.firstByteAt = nil
            run(.head(response), of: round, &core)
        }
    }

    /// Receives the next piece of the body.
    func receive(_ data: Data, of round: Int) {
        let sink = core.withLock { core in
            if core.machine.round == round, core.metrics.firstByteAt == nil {
                core.metrics.firstByteAt = TransferMetrics.now
            }
            run(.bytes(data), of: round, &core)
            return core.sink
        }
        sink.deliver()
    }

    /// Receives the end of a task, with its response if that was not delivered before.
    func complete(_ response: HTTPURLResponse?, _ error: (any Error)?, of round: Int) {
        let (isCurrent, stream, url) = core.withLock {
            ($0.machine.round == round, $0.body.stream, $0.machine.url)
        }
        guard isCurrent else { return }
        // A stream may be of a class of the user's, so it is read without the lock.
        let failure: (any Error)? =
            stream.flatMap { UploadBody.failure(of: $0, to: url) }
            ?? error.map { response == nil ? DataSourceError.descriptorShortage(url) ?? $0 : $0 }
        if failure == nil, let response { receive(response, of: round) }
        handle(.completed(failure), of: round)
    }

    /// Has the machine handle an event, and performs its actions. An action that has the machine handle
    /// another event is the last one.
    func run(_ event: Machine.Event, of round: Int? = nil, _ core: inout Core) {
        for action in core.machine.handle(event, of: round) { perform(action, &core) }
    }

    private func perform(_ action: Machine.Action, _ core: inout Core) {
        switch action {
        case .deliver(let data):
            attempt(&core) { if try $0.sink.receive(data) { run(.full, &$0) } }
            reportProgress(&core)
        case .stage(let data): attempt(&core) { try $0.stage.append(data) }
        case .consult(let question):
            let reply: Machine.Reply
            do { reply = try core.sink.reply(to: question) } catch { reply = .failed(error) }
            run(.sinkReplied(reply), &core)
        case .send(let request): send(request, &core)
        case .drop: drop(&core)
        case .flush: queue.async { [self, round = core.machine.round] in flush(round) }
        case .suspend: if let task = core.task { session.control.async { task.suspend() } }
        case .resume: if let task = core.task { session.control.async { task.resume() } }
        case .check(let body):
            // A verification may take long: it gets a thread of its own, and leaves those of global queues to others.
            let isLong = core.machine.phase == .verifying
            let queue = isLong ? DispatchQueue(label: "DeferredOperations.Verification") : queue
            check(on: queue, core.machine.round, body)
        case .accept(let response): accept(response, &core)
        case .ask(let question): ask(core.machine.round, question)
        case .report: reportProgress(&core)
        case .conclude(let result):
            core.metrics.endedAt = TransferMetrics.now
            (result.isSuccess ? queue : .global()).async { [self] in end(by: .concluded) }
        case .close(let result): close(result, &core)
        case .discard:
            core.discarded = core.sink.discard()
            core.body.form?.remove()
        }
    }

    /// Runs `body`. What it throws is a failure of the transfer.
    private func attempt(_ core: inout Core, _ body: (inout Core) throws -> Void) {
        do { try body(&core) } catch { run(.failed(error, .transfer), &core) }
    }

    /// Passes what is staged to the sink, on the transfer's queue. The lock is taken for each piece, so that
    /// a cancel waits for one of them at most.
    private func flush(_ round: Int) {
        var isMore = true
        while isMore {
            isMore = core.withLock { core in
                guard core.machine.round == round else { return false }
                attempt(&core) { core in
                    let pieces = try core.stage.take()
                    for piece in pieces ?? [] { _ = try core.sink.receive(piece) }
                    if pieces == nil { run(.flushed, &core) }
                }
                return core.machine.phase == .flushing
            }
        }
        core.withLock { $0.sink }.deliver()
    }

    private func drop(_ core: inout Core) {
        core.stage.removeAll()
        if let task = core.task.take() { session.control.async { task.cancel() } }
        if let question = core.question.take() { DispatchQueue.global().async { question.cancel() } }
    }

    private func close(_ result: Result<HTTPURLResponse, any Error>, _ core: inout Core) {
        core.outcome = result
        if case .success = result {
            do { return try core.sink.finish() } catch { core.outcome = .failure(error) }
        }
        core.discarded = core.sink.discard()
    }

    // MARK: Tasks

    /// Sends a request, whose body may be a stream: that is made and opened on the transfer's queue, since it
    /// may be of a class of the user's.
    private func send(_ request: URLRequest, _ core: inout Core) {
        let round = core.machine.round
        let options = core.machine.options
        let hasBody = request.httpMethod != "GET" && request.httpMethod != "HEAD"
        let make = hasBody ? options.makeBodyStream : nil
        core.body.stream = nil
        guard make != nil || request.httpBodyStream != nil else {
            let file = hasBody ? core.body.form?.subject ?? options.uploadFile : nil
            return begin(request, file, round)
        }
        queue.async { [self] in
            do {
                let stream = try make?() ?? request.httpBodyStream
                let sentBefore = self.core.withLock { $0.body.sentStreams }
                if let stream { try UploadBody.open(stream, unlessIn: sentBefore, for: request.errorURL) }
                let isWanted = self.core.withLock { core in
                    guard core.machine.round == round else { return false }
                    core.body.stream = stream
                    if let stream { core.body.sentStreams.append(stream) }
                    return true
                }
                var sent = request
                sent.httpBodyStream = stream
                if isWanted { begin(sent, nil, round) }
            } catch {
                handle(.failed(error, .closure), of: round)
            }
        }
    }

    /// Makes the task and starts it, on the session's queue.
    private func begin(_ request: URLRequest, _ file: URL?, _ round: Int) {
        session.control.async { [self] in
            // The file may have gone since the first request.
            do { try file?.checkUpload(to: request.errorURL) } catch {
                return handle(.failed(error, .closure), of: round)
            }
            var request = request
            request.timeoutInterval = TransferSession.foundationTimeout
            request.url = request.url?.asSent
            let task: URLSessionTask =
                if let file {
                    session.session.uploadTask(with: request, fromFile: file)
                } else {
                    session.session.dataTask(with: request)
                }
            let isWanted = self.core.withLock { core in
                guard core.machine.round == round else { return false }
                core.task = task
                core.metrics.requestCount += 1
                return true
            }
            guard isWanted else { return task.cancel() }
            session.router.add(self, round, for: task)
            task.resume()
        }
    }

    /// Makes another stream for the present request, because Foundation itself repeats it.
    func makeBodyStream(_ use: @escaping @Sendable (InputStream?) -> Void) {
        let make = core.withLock { $0.machine.options.makeBodyStream }
        queue.async { use(try? make?()) }
    }

    /// Has a redirect that will not be followed, or perhaps not, delivered like any other answer; false if its
    /// body is not wanted.
    ///
    /// - Parameter deliver: Makes the session deliver it. Called in order with cancels of the task: after one,
    ///   swift-corelibs-foundation ends the process for it.
    func takesRedirect(
        _ response: HTTPURLResponse, of round: Int, deliver: @escaping @Sendable () -> Void
    ) -> Bool {
        guard core.withLock({ $0.machine.wantsBody(of: response) }) else { return false }
        session.control.async { [self] in if isCurrent(round) { deliver() } }
        return true
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
