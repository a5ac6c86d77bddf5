import Foundation

/// What happens to the transfers, passed on to all who show it or keep it: bars and lines, JSON, the
/// waterfall, the summary.
///
/// Sound as `@unchecked Sendable`: what changes is in `state`, which is touched only with `lock` held.
final class Journal: @unchecked Sendable {
    private struct State {
        var progress: ProgressState
        var timeline = Timeline()
        var underWay: [Int: Underway] = [:]
        var ended: Set<Int> = []
        var cancelReason: String?
    }

    /// What is known of a transfer that has begun.
    private struct Underway {
        let begun: Duration
        var attempts = 0
        var received: Int64 = 0
    }

    private let display: Display
    private let keepsTimeline: Bool
    private let writesJSON: Bool
    /// What fails, fails on purpose.
    private let isDemo: Bool
    /// Why the fetcher itself cancels.
    private let ownCancelReason: String
    private let start = ContinuousClock.now
    private let lock = NSLock()
    private var state: State

    init(_ options: Options, _ display: Display) {
        self.display = display
        keepsTimeline = options.waterfall != nil || options.action == .demo
        writesJSON = options.writesJSON
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

    /// These wait for their turn from now on.
    func add(_ transfers: [Transfer]) {
        let now = elapsed
        lock.withLock {
            for transfer in transfers { add(transfer, now) }
        }
    }

    /// The one that `make` makes, given its place in the order, waits for its turn from now on.
    func add(_ make: (_ index: Int) -> Transfer) -> Transfer {
        let now = elapsed
        return lock.withLock {
            let transfer = make(state.progress.total)
            add(transfer, now)
            return transfer
        }
    }

    private func add(_ transfer: Transfer, _ now: Duration) {
        state.progress.addOne()
        if keepsTimeline { state.timeline.add(name: transfer.name.printable, url: transfer.text, at: now) }
    }

    /// Its turn has come.
    func begin(_ transfer: Transfer) {
        let now = elapsed
        lock.withLock {
            state.progress.begin(transfer.index, name: transfer.name)
            state.underWay[transfer.index] = Underway(begun: now)
        }
    }

    /// So much of it is there.
    func receive(_ transfer: Transfer, _ received: Int64, of expected: Int64?) {
        let now = elapsed
        lock.withLock {
            guard state.underWay[transfer.index] != nil else { return }
            state.underWay[transfer.index]?.received = received
            state.progress.receive(transfer.index, received, of: expected, at: now)
            enter(.receiving, transfer, now)
        }
    }

    /// It has failed in a way that may pass, and will be tried again.
    func pause(_ transfer: Transfer, _ error: any Error, delay: Duration, triesLeft: Int) {
        let now = elapsed
        let reason = Reason.inWords(error, about: transfer.text)
        lock.withLock {
            state.progress.pause(transfer.index, reason: reason, until: now + delay)
            enter(.pausing, transfer, now)
        }
        let tries = triesLeft == 1 ? "the last try" : "\(triesLeft) tries left"
        display.say("\(transfer.text.printable): \(reason); again in \(Amount.span(delay)), \(tries)")
    }

    /// It is asked for, the first time or again.
    func ask(_ transfer: Transfer, attempt: Int) {
        let now = elapsed
        lock.withLock {
            state.underWay[transfer.index]?.attempts = attempt
            state.underWay[transfer.index]?.received = 0
            state.progress.ask(transfer.index)
            enter(.asking, transfer, now)
        }
    }

    /// It is over.
    func end(_ transfer: Transfer, _ result: Result<Fetched, any Error>) {
        let now = elapsed
        let report = lock.withLock { () -> Report? in
            guard state.ended.insert(transfer.index).inserted else { return nil }
            let underway = state.underWay.removeValue(forKey: transfer.index)
            let report = self.report(on: transfer, result, underway, now)
            state.progress.end(transfer.index, report.timelineEnd, received: (try? result.get())?.received)
            if keepsTimeline {
                state.timeline.end(transfer.index, report.timelineEnd, note: report.note, at: now)
            }
            return report
        }
        guard let report else { return }
        switch report.end {
        case .fetched, .skipped: display.say(report.line(transfer.name))
        case .failed(let reason) where isDemo: display.say("\(transfer.name): \(reason)")
        case .failed(let reason): display.complain("fetch: \(transfer.text.printable): \(reason)")
        case .cancelled: break
        }
        if writesJSON { display.output(report.json) }
    }

    /// Those of `transfers` that never had their turn are over too.
    func endRest(_ transfers: [Transfer]) {
        for transfer in transfers { end(transfer, .failure(CancellationError())) }
    }

    /// What is cancelled from now on is so for this reason. The first reason counts.
    func note(cancelReason: String) {
        lock.withLock { state.cancelReason = state.cancelReason ?? cancelReason }
    }

    var progress: ProgressState { lock.withLock { state.progress } }
    var timeline: Timeline { lock.withLock { state.timeline } }

    /// What it all came to, in a line.
    var summary: String { lock.withLock { state.progress }.summary(after: elapsed) }

    private func enter(_ phase: Timeline.Phase, _ transfer: Transfer, _ now: Duration) {
        if keepsTimeline { state.timeline.enter(phase, transfer.index, at: now) }
    }

    private func report(
        on transfer: Transfer, _ result: Result<Fetched, any Error>, _ underway: Underway?, _ now: Duration
    ) -> Report {
        var report = Report(url: transfer.text, end: .fetched)
        report.attempts = underway?.attempts ?? 0
        report.byteCount = underway?.received ?? 0
        if let underway { report.duration = now - underway.begun }
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
            report.end = .failed(reason: Reason.inWords(error, about: transfer.text))
            report.status = Reason.status(in: error)
        }
        return report
    }
}

extension Report {
    fileprivate var timelineEnd: Timeline.End {
        switch end {
        case .fetched: .fetched
        case .skipped: .skipped
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }

    /// For the waterfall.
    fileprivate var note: String {
        switch end {
        case .fetched:
            "\(Amount.bytes(byteCount)), \(Amount.span(duration))"
                + (attempts > 1 ? ", \(attempts) tries" : "")
        case .skipped: "it was there"
        case .failed(let reason): reason
        case .cancelled(let reason): byteCount > 0 ? "\(reason), after \(Amount.bytes(byteCount))" : reason
        }
    }

    /// For those who look on.
    fileprivate func line(_ name: String) -> String {
        if end == .skipped { return "\(name.printable): it is there already" }
        let tries = attempts > 1 ? ", \(attempts) tries" : ""
        return "\(name.printable): \(Amount.bytes(byteCount)) in \(Amount.span(duration))\(tries)"
    }
}

extension ProgressState {
    /// `5 of 6 fetched, 12.3 MB in 2.1 s (5.9 MB/s); 1 failed`
    func summary(after time: Duration) -> String {
        var first = "\(fetched) of \(total) fetched, \(Amount.bytes(received)) in \(Amount.span(time))"
        if received > 0, time > .zero {
            first += " (\(Amount.rate(Double(received) / (time / .seconds(1)))))"
        }
        let others = [(skipped, "there already"), (failed, "failed"), (cancelled, "cancelled")]
        return ([first] + others.filter { $0.0 > 0 }.map { "\($0) \($1)" }).joined(separator: "; ")
    }
}
