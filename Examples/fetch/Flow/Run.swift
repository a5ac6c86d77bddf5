import Deferred
import DeferredOperations
import DeferredTracing
import Foundation

/// One run of the program, of ordinary downloads or of the demo: the display, the event log, the fetcher,
/// the signals that may end it early, and the files written at its end.
struct Run: Sendable {
    let options: Options
    let display: Display
    let log: EventLog
    let fetcher: Fetcher
    private let staging: StagingArea
    /// For `--trace`.
    private let recording: DeferredRecording?

    init(_ options: Options) {
        self.options = options
        // Before the first Deferred is created.
        recording = options.trace.map { _ in DeferredDiagnostics.startRecording(limit: 1_000_000) }
        display = Display(options.isQuiet ? .errors : Terminal(.standardError).manner)
        log = EventLog(options, display)
        staging = StagingArea(options)
        fetcher = Fetcher(options, log, staging)
    }

    /// How a run ended.
    struct Ending: Sendable {
        let result: Result<Void, any Error>
        /// Ctrl-C or another signal.
        let signal: CInt?
    }

    /// Runs `work` until its Deferred is settled. Ctrl-C cancels it, and so does standard output without a
    /// reader.
    func perform(
        until interrupts: Interrupts, _ work: @escaping @Sendable () -> Deferred<Void>
    ) async -> Ending {
        // The chain is built before it starts, so that a signal always has something to cancel.
        let start = Deferred<Void>()
        let whole = start.then { work() }
        interrupts.handle {
            log.note(cancelReason: "cancelled: interrupted")
            whole.cancel()
        }
        display.brokenOutput.done { failure in
            display.complain("fetch: \(failure)")
            log.note(cancelReason: "cancelled: \(failure)")
            whole.cancel()
        }
        start.resolve()
        let result = await whole.result
        fetcher.waitUntilIdle()
        staging.clear()
        return Ending(result: result, signal: interrupts.received)
    }

    /// Writes the picture of `--waterfall`, if there is to be one; returns false if that failed.
    func drawWaterfall() -> Bool {
        guard let path = options.waterfall else { return true }
        let picture = WaterfallPicture(
            timeline: log.timeline, title: "\(log.summary), at most \(options.jobs) at once")
        return write(picture.svg, to: path)
    }

    /// Writes the trace of `--trace`, if there is to be one; returns false if that failed.
    func writeTrace() -> Bool {
        guard let path = options.trace, let recording else { return true }
        recording.stop()
        guard write(recording.chromeTrace(), to: path) else { return false }
        let dropped = recording.droppedEventCount
        if dropped > 0 {
            display.complain("fetch: \(path): the last \(dropped) events are missing, as the trace is full")
        }
        return true
    }

    private func write(_ text: String, to path: String) -> Bool {
        do {
            if FileKind(path).isStream {
                let stream = try OutputDescriptor.opening(
                    path, unless: { OutputDescriptor.hasStoppedWaiting })
                defer { stream.close() }
                try stream.write(text)
            } else {
                // Checked again: the file may have appeared during the downloads.
                if options.existing != .overwrite, FileKind(path) != .nothing {
                    throw DataSourceError.destinationExists(.file(path))
                }
                try Data(text.utf8).write(to: .fileToReplace(path), options: .atomic)
            }
            return true
        } catch {
            display.complain("fetch: \(path): \(ErrorText.inWords(error))")
            return false
        }
    }
}

extension Run {
    /// Fetches what `options` name. Returns the exit status: 0 if all is well, 1 if something failed, 128
    /// plus the signal's number after a signal.
    static func exitStatus(_ options: Options) async throws(UsageError) -> CInt {
        let interrupts = Interrupts()
        var options = options
        var warning: String?
        if let netrc = options.netrc { (options.credentials, warning) = try Netrc.read(netrc) }
        var lines = options.urls.map { InputList.Line(url: $0) }
        if let input = options.input { lines += try InputList.read(input) }
        let downloads = try Download.plan(lines, options)
        try options.checkCurrentFolder(for: downloads)
        try options.checkSideFiles(besides: downloads)

        let run = Run(options)
        if let warning { run.display.complain("fetch: \(warning)") }
        run.log.add(downloads)
        run.staging.removeAbandoned(downloads)
        let ending = await run.perform(until: interrupts) { run.fetcher.fetchAll(downloads) }
        run.log.endRest(downloads)
        let isDrawn = run.drawWaterfall()
        let isTraced = run.writeTrace()
        run.display.finish(saying: (ending.signal == nil ? "" : "interrupted: ") + run.log.summary)

        // Also one that came while the last output waited for a reader.
        if let signal = interrupts.received { return 128 + signal }
        return isDrawn && isTraced && run.isSuccess(ending) ? 0 : 1
    }

    /// With mirrors of one file, one download is enough.
    private func isSuccess(_ ending: Ending) -> Bool {
        let progress = log.progress
        guard display.brokenOutput.currentResult == nil else { return false }
        return options.isOneFile
            ? progress.total == 0 || progress.fetched + progress.skipped > 0
            : progress.failed + progress.cancelled == 0
    }
}
