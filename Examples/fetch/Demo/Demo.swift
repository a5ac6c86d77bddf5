import LoopbackServer

/// `fetch --demo`: the fetcher and a server in the same process, with a waterfall at the end.
enum Demo {
    /// Runs the demo. Returns the exit status: 0, 1 if something went wrong, 128 plus the signal's number
    /// after a signal.
    static func exitStatus(_ wanted: Options) async throws(UsageError) -> CInt {
        try wanted.checkSideFiles()
        let folder = DemoFolder(wanted.directory)
        var options = wanted
        options.directory = folder.path
        options.existing = .overwrite
        options.retries = 2
        let run = Run(options)
        let server: LoopbackServer
        do {
            server = try DemoServer.start()
        } catch {
            run.display.complain("fetch: \(error)")
            run.display.finish()
            return 1
        }
        let style = Terminal(.standardOutput).style
        run.display.output("A Deferred is a result that will be there later. Here, results are files from a")
        run.display.output("server in this process, at \(server.url()).")
        let story = Story(server: server, folder: folder, run: run, style: style)
        let interrupts = Interrupts()
        let ending = await run.perform(until: interrupts) { story.chapters() }
        server.stop()
        folder.clear()

        if case .failure(let error) = ending.result, ending.signal == nil {
            run.display.complain("fetch: the demo failed: \(ErrorText.inWords(error))")
        }
        run.display.output("\nWhen each transfer waited and ran:\n")
        for line in WaterfallText(timeline: run.log.timeline, style: style).lines { run.display.output(line) }
        let isDrawn = run.drawWaterfall()
        let isTraced = run.writeTrace()
        run.display.output("")
        run.display.finish(saying: run.log.summary)
        if let signal = interrupts.received { return 128 + signal }
        guard case .success = ending.result, isDrawn, isTraced, run.display.brokenOutput.currentResult == nil
        else { return 1 }
        return 0
    }
}
