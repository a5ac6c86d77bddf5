import Deferred
import DeferredOperations
import Foundation

/// One run of the program, whatever it fetches: who looks on, what may cut it short, and what is left to do
/// in the end.
struct Run: Sendable {
    let options: Options
    let display: Display
    let journal: Journal
    let fetcher: Fetcher
    private let stage: Stage
    /// What `--trace` is written from.
    private let recording: DeferredRecording?

    init(_ options: Options) {
        self.options = options
        // Before the first Deferred is made.
        recording = options.trace.map { _ in DeferredDiagnostics.startRecording(limit: 1_000_000) }
        display = Display(options.isQuiet ? .errors : Terminal(.standardError).manner)
        journal = Journal(options, display)
        stage = Stage(options)
        fetcher = Fetcher(options, journal, stage)
    }

    /// How it ended.
    struct Ending: Sendable {
        let result: Result<Void, any Error>
        /// Ctrl-C or its like.
        let signal: CInt?
    }

    /// Does what `work` begins, until it is done, Ctrl-C is pressed, or nobody reads standard output any
    /// more.
    func perform(
        until interrupts: Interrupts, _ work: @escaping @Sendable () -> Deferred<Void>
    ) async -> Ending {
        // The chain is built before it is set off: so whoever may cancel it has it in hand from the start.
        let start = Deferred<Void>()
        let whole = start.then { work() }
        interrupts.handle {
            journal.note(cancelReason: "cancelled: interrupted")
            whole.cancel()
        }
        display.brokenOutput.then { failure in
            display.complain("fetch: \(failure)")
            journal.note(cancelReason: "cancelled: \(failure)")
            whole.cancel()
        }
        start.resolve()
        let result = await whole.result
        fetcher.waitUntilIdle()
        stage.clear()
        return Ending(result: result, signal: interrupts.received)
    }

    /// Draws the picture, if there is to be one; false if it can't be written.
    func drawWaterfall() -> Bool {
        guard let path = options.waterfall else { return true }
        let picture = WaterfallPicture(
            timeline: journal.timeline, title: "\(journal.summary), at most \(options.jobs) at once")
        return write(picture.svg, to: path)
    }

    /// Writes the trace, if there is to be one; false if it can't be written.
    func writeTrace() -> Bool {
        guard let path = options.trace, let recording else { return true }
        recording.stop()
        guard write(recording.chromeTrace(), to: path) else { return false }
        let dropped = recording.droppedEventCount
        if dropped > 0 {
            display.complain("fetch: \(path): there was no room for the last \(dropped) events")
        }
        return true
    }

    private func write(_ text: String, to path: String) -> Bool {
        do {
            if FileKind(path).isStream {
                let stream = try OutputStream.opening(path, unless: { false })
                defer { stream.close() }
                try stream.write(text)
            } else {
                // Looked at again: it may have come while the transfers were under way.
                if options.existing != .overwrite, FileKind(path) != .nothing {
                    throw DataSourceError.destinationExists(.file(path))
                }
                try Data(text.utf8).write(to: .fileToReplace(path), options: .atomic)
            }
            return true
        } catch {
            display.complain("fetch: \(path): \(Reason.inWords(error))")
            return false
        }
    }
}

extension Run {
    /// Fetches what `options` name. Gives 0 if all is well, 1 if something failed, 128 and the signal's
    /// number after a signal.
    static func exitStatus(_ options: Options) async throws(UsageError) -> CInt {
        let interrupts = Interrupts()
        var urls = options.urls
        if let input = options.input { urls += try InputList.read(input) }
        let transfers = try Transfer.plan(urls, options)
        try options.checkSideFiles(besides: transfers)

        let run = Run(options)
        run.journal.add(transfers)
        let ending = await run.perform(until: interrupts) { run.fetcher.fetch(transfers) }
        run.journal.endRest(transfers)
        let isDrawn = run.drawWaterfall()
        let isTraced = run.writeTrace()
        run.display.finish(saying: (ending.signal == nil ? "" : "interrupted: ") + run.journal.summary)

        if let signal = ending.signal { return 128 + signal }
        return isDrawn && isTraced && run.isSuccess(ending) ? 0 : 1
    }

    /// With `--first` one is enough.
    private func isSuccess(_ ending: Ending) -> Bool {
        let progress = journal.progress
        guard display.brokenOutput.currentResult == nil else { return false }
        return options.takesFirst
            ? progress.total == 0 || progress.fetched + progress.skipped > 0
            : progress.failed + progress.cancelled == 0
    }
}
