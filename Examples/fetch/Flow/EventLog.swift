import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Records what happens to the downloads, and passes it on: to the bars and lines on standard error, to
/// `--json`, to the waterfall and to the summary.
///
/// Sound as `@unchecked Sendable`: `state` is the only thing that changes, and is accessed only under
/// `lock`.
final class EventLog: @unchecked Sendable {
    private struct State {
        var progress: ProgressState
        var timeline = Timeline()
        var running: [Int: Running] = [:]
        var ended: Set<Int> = []
        var cancelReason: String?
        /// Whether it has been said that nothing is kept for `--continue`.
        var hasSaidNotKept = false
    }

    /// A download that has begun and not ended.
    private struct Running {
        let begun: Duration
        var attempts = 0
        /// What the present attempt has received, and the status of its last answer: reports of progress may be a little
        /// behind.
        var metrics: (@Sendable () -> TransferMetrics)?
        /// Whether there was an answer whose body was wanted.
        var hasAnswer = false
        /// Why nothing of that is kept for `--continue`.
        var reasonNotToKeep: String?
    }

    private let display: Display
    private let keepsTimeline: Bool
    private let writesJSON: Bool
    private let usesRemoteName: Bool
    private let continues: Bool
    private let storesAsSent: Bool
    /// Whether `--raw` is possible, and was not given.
    private let hasRawHint: Bool
    /// In the demo, downloads fail on purpose.
    private let isDemo: Bool
    /// Why the fetcher itself cancels downloads.
    private let ownCancelReason: String
    private let start = ContinuousClock.now
    private let lock = NSLock()
    private var state: State

    init(_ options: Options, _ display: Display) {
        self.display = display
        keepsTimeline = options.waterfall != nil || options.action == .demo
        writesJSON = options.writesJSON
        usesRemoteName = options.usesRemoteName
        continues = options.existing == .resume
        storesAsSent = options.storesAsSent
        hasRawHint = !storesAsSent && TransferSession.canStoreAsSent
        isDemo = options.action == .demo
        ownCancelReason =
            options.takesFirst
            ? "cancelled: another mirror was first"
            : options.failsFast ? "cancelled: another URL failed" : "cancelled"
        state = State(progress: ProgressState(continues: continues))
        if case .bars(let style) = display.manner {
            display.show { [weak self] columns, rows in
                guard let self else { return [] }
                let lines = ProgressLines(width: columns, height: rows - 1, style: style)
                return lines.render(lock.withLock { self.state.progress }, at: elapsed)
            }
        }
    }

    private var elapsed: Duration { ContinuousClock.now - start }

    /// Adds `downloads`, which wait in the queue from now on.
    func add(_ downloads: [Download]) {
        let now = elapsed
        lock.withLock {
            for download in downloads { add(download, now) }
        }
    }

    /// Adds the download that `make` returns for its position in the order.
    func add(_ make: (_ index: Int) -> Download) -> Download {
        let now = elapsed
        return lock.withLock {
            let download = make(state.progress.total)
            add(download, now)
            return download
        }
    }

    private func add(_ download: Download, _ now: Duration) {
        state.progress.addOne()
        if keepsTimeline { state.timeline.add(name: download.name.printable, url: download.text, at: now) }
    }

    /// Enters that a download has left the queue.
    func begin(_ download: Download) {
        let now = elapsed
        lock.withLock {
            state.progress.begin(download.index, name: download.name)
            state.running[download.index] = Running(begun: now)
        }
    }

    /// Enters what counts the bytes of the present attempt, and knows the status of its last answer.
    func watch(_ download: Download, _ metrics: @escaping @Sendable () -> TransferMetrics) {
        lock.withLock { state.running[download.index]?.metrics = metrics }
    }

    /// Enters that an answer, whose body is wanted, has begun.
    func answer(_ download: Download, _ response: HTTPURLResponse) {
        let reason = continues ? response.reasonNotToContinue(storesAsSent: storesAsSent) : nil
        lock.withLock {
            state.running[download.index]?.hasAnswer = true
            state.running[download.index]?.reasonNotToKeep = reason
        }
    }

    /// Says once under `--continue` why nothing is kept of what a download has received.
    private func sayIfNotKept(_ download: Download, _ running: Running?) {
        guard let reason = running?.reasonNotToKeep, (running?.metrics?().received ?? 0) > 0,
            lock.withLock({
                defer { state.hasSaidNotKept = true }
                return !state.hasSaidNotKept
            })
        else { return }
        display.complain("fetch: \(download.text.printable): nothing is kept for --continue, as \(reason)")
    }

    /// Enters that `received` bytes of a download are there.
    func receive(_ download: Download, _ received: Int64, of expected: Int64?) {
        let now = elapsed
        lock.withLock {
            guard state.running[download.index] != nil else { return }
            state.progress.receive(download.index, received, of: expected, at: now)
            enter(.receiving, download, now)
        }
    }

    /// Enters that the checksum of a download is being computed.
    func check(_ download: Download) {
        lock.withLock { state.progress.check(download.index) }
    }

    /// Enters that an attempt failed with a transient error, and that the next one starts after `delay`.
    func pause(_ download: Download, _ error: any Error, delay: Duration, triesLeft: Int) {
        let now = elapsed
        let running = lock.withLock { state.running[download.index] }
        let reason = self.reason(error, download, hasAnswer: running?.hasAnswer == true)
        lock.withLock {
            state.progress.pause(download.index, reason: reason, until: now + delay)
            enter(.pausing, download, now)
        }
        let tries = triesLeft == 1 ? "the last try" : "\(triesLeft) tries left"
        let line = "\(reason); again in \(Amount.wait(delay)), \(tries)"
        display.say(isDemo ? "   \(download.name): \(line)" : "\(download.text.printable): \(line)")
        sayIfNotKept(download, running)
    }

    /// Enters that attempt number `attempt` starts.
    func ask(_ download: Download, attempt: Int) {
        let now = elapsed
        lock.withLock {
            state.running[download.index]?.attempts = attempt
            state.running[download.index]?.metrics = nil
            state.running[download.index]?.hasAnswer = false
            state.running[download.index]?.reasonNotToKeep = nil
            state.progress.ask(download.index)
            enter(.asking, download, now)
        }
    }

    /// Enters the outcome of a download. Only its first outcome counts.
    func end(_ download: Download, _ result: Result<Fetched, any Error>) {
        let now = elapsed
        let (report, running) = lock.withLock { () -> (Report?, Running?) in
            guard state.ended.insert(download.index).inserted else { return (nil, nil) }
            let running = state.running.removeValue(forKey: download.index)
            let metrics = running?.metrics?()
            let report = self.report(on: download, result, running, metrics, now)
            // The last report of a transfer that has failed may be older than its last bytes.
            let received = (try? result.get())?.received ?? metrics?.received
            state.progress.end(download.index, report.timelineEnd, received: received)
            if keepsTimeline {
                state.timeline.end(download.index, report.timelineEnd, note: report.note, at: now)
            }
            return (report, running)
        }
        guard let report else { return }
        switch report.end {
        case .fetched, .skipped:
            let named = usesRemoteName ? report.file?.split(separator: "/").last.map(String.init) : nil
            display.say((isDemo ? "   " : "") + report.line(named ?? download.name))
        case .failed(let reason) where isDemo: display.say("   \(download.name): \(reason)")
        case .failed(let reason):
            display.complain("fetch: \(download.text.isEmpty ? "''" : download.text.printable): \(reason)")
        case .cancelled: break
        }
        if report.error != nil { sayIfNotKept(download, running) }
        if writesJSON { display.output(report.json) }
    }

    /// Enters that those of `downloads` that have not ended are cancelled.
    func endRest(_ downloads: [Download]) {
        for download in downloads { end(download, .failure(CancellationError())) }
    }

    /// Sets the reason that is reported for downloads cancelled from now on. Only the first call counts.
    func note(cancelReason: String) {
        lock.withLock { state.cancelReason = state.cancelReason ?? cancelReason }
    }

    var progress: ProgressState { lock.withLock { state.progress } }
    var timeline: Timeline { lock.withLock { state.timeline } }

    /// The whole run in one line.
    var summary: String { lock.withLock { state.progress }.summary(after: elapsed) }

    private func enter(_ phase: Timeline.Phase, _ download: Download, _ now: Duration) {
        if keepsTimeline { state.timeline.enter(phase, download.index, at: now) }
    }

    private func reason(_ error: any Error, _ download: Download, hasAnswer: Bool) -> String {
        let text = ErrorText.inWords(error, about: download.text, addressCount: 1 + download.mirrors.count)
        guard case DataSourceError.timedOut(_, .silence) = error, !hasAnswer else {
            return text + hint(error)
        }
        // Something may have been heard: of a redirect, Foundation reports nothing before its body has ended.
        return text.replacing("nothing heard for", with: "no usable answer for")
    }

    /// Names `--raw` where Foundation does not understand a head that libcurl takes.
    private func hint(_ error: any Error) -> String {
        guard hasRawHint, case DataSourceError.malformedResponse(_, let reason) = error,
            ["Failed writing header", "a body without a head"].contains(reason)
        else { return "" }
        return "; --raw may accept it"
    }

    private func report(
        on download: Download, _ result: Result<Fetched, any Error>, _ running: Running?,
        _ metrics: TransferMetrics?, _ now: Duration
    ) -> Report {
        var report = Report(url: download.text, end: .fetched)
        report.attempts = running?.attempts ?? 0
        report.byteCount = metrics?.received ?? 0
        if let running { report.duration = now - running.begun }
        switch result {
        case .success(let fetched):
            report.end = fetched.wasThere ? .skipped : .fetched
            report.status = fetched.status
            report.byteCount = fetched.byteCount
            report.file = fetched.file
            if fetched.wasThere, fetched.status == nil { report.attempts = 0 }
        case .failure(let error) where error is CancellationError:
            report.end = .cancelled(reason: state.cancelReason ?? ownCancelReason)
            report.status = metrics?.status
        case .failure(let error):
            let reason = self.reason(error, download, hasAnswer: running?.hasAnswer == true)
            report.end = .failed(
                reason: report.attempts > 1 ? "\(reason) (\(report.attempts) tries)" : reason)
            report.status = ErrorText.status(in: error) ?? metrics?.status
        }
        return report
    }
}
