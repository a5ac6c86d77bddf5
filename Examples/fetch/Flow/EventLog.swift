import DeferredOperations
import Foundation

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
    }

    /// A download that has begun and not ended.
    private struct Running {
        let begun: Duration
        var attempts = 0
        var received: Int64 = 0
        /// Counts what the present attempt has received: reports of progress may be a little behind.
        var count: (@Sendable () -> Int64)?
        /// The status of the last answer whose body was wanted.
        var status: Int?
    }

    private let display: Display
    private let keepsTimeline: Bool
    private let writesJSON: Bool
    private let usesRemoteName: Bool
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
        isDemo = options.action == .demo
        ownCancelReason =
            options.takesFirst
            ? "cancelled: another mirror was first"
            : options.failsFast ? "cancelled: another URL failed" : "cancelled"
        state = State(progress: ProgressState(continues: options.existing == .resume))
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

    /// Enters what counts the bytes of the present attempt.
    func count(_ download: Download, _ count: @escaping @Sendable () -> Int64) {
        lock.withLock { state.running[download.index]?.count = count }
    }

    /// Enters that an answer with that status, whose body is wanted, has begun.
    func answer(_ download: Download, status: Int) {
        lock.withLock { state.running[download.index]?.status = status }
    }

    /// Enters that `received` bytes of a download are there.
    func receive(_ download: Download, _ received: Int64, of expected: Int64?) {
        let now = elapsed
        lock.withLock {
            guard state.running[download.index] != nil else { return }
            state.running[download.index]?.received = received
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
        let status = lock.withLock { state.running[download.index]?.status }
        let reason = self.reason(error, download, hasAnswer: status != nil)
        lock.withLock {
            state.progress.pause(download.index, reason: reason, until: now + delay)
            enter(.pausing, download, now)
        }
        let tries = triesLeft == 1 ? "the last try" : "\(triesLeft) tries left"
        let line = "\(reason); again in \(Amount.wait(delay)), \(tries)"
        display.say(isDemo ? "   \(download.name): \(line)" : "\(download.text.printable): \(line)")
    }

    /// Enters that attempt number `attempt` starts.
    func ask(_ download: Download, attempt: Int) {
        let now = elapsed
        lock.withLock {
            state.running[download.index]?.attempts = attempt
            state.running[download.index]?.received = 0
            state.running[download.index]?.count = nil
            state.running[download.index]?.status = nil
            state.progress.ask(download.index)
            enter(.asking, download, now)
        }
    }

    /// Enters the outcome of a download. Only its first outcome counts.
    func end(_ download: Download, _ result: Result<Fetched, any Error>) {
        let now = elapsed
        let report = lock.withLock { () -> Report? in
            guard state.ended.insert(download.index).inserted else { return nil }
            let running = state.running.removeValue(forKey: download.index)
            let report = self.report(on: download, result, running, now)
            state.progress.end(download.index, report.timelineEnd, received: (try? result.get())?.received)
            if keepsTimeline {
                state.timeline.end(download.index, report.timelineEnd, note: report.note, at: now)
            }
            return report
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
        guard case DataSourceError.timedOut(_, .silence) = error, !hasAnswer else { return text }
        // Something may have been heard: of a redirect, Foundation reports nothing before its body has ended.
        return text.replacing("nothing heard for", with: "no usable answer for")
    }

    private func report(
        on download: Download, _ result: Result<Fetched, any Error>, _ running: Running?, _ now: Duration
    ) -> Report {
        var report = Report(url: download.text, end: .fetched)
        report.attempts = running?.attempts ?? 0
        report.byteCount = running?.count?() ?? running?.received ?? 0
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
        case .failure(let error):
            let reason = self.reason(error, download, hasAnswer: running?.status != nil)
            report.end = .failed(
                reason: report.attempts > 1 ? "\(reason) (\(report.attempts) tries)" : reason)
            report.status = ErrorText.status(in: error) ?? running?.status
        }
        return report
    }
}
