import LoopbackServer

/// `fetch --demo`: the fetcher against a server in this process, and the waterfall of it.
enum Demo {
    /// Tells the story, and gives 0; 1 if it could not be told; 128 and the signal's number after a signal.
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
        let story = Story(server: server, folder: folder, run: run)
        run.display.output(
            "A server is listening on \(server.url()), in this process. Five things to fetch from it:\n")
        let ending = await run.perform(until: Interrupts()) { story.chapters() }
        server.stop()
        folder.clear()

        if case .failure(let error) = ending.result, ending.signal == nil {
            run.display.complain("fetch: the demo went wrong: \(Reason.inWords(error))")
        }
        run.display.output("\nWhen each of them waited, was asked for and received:\n")
        for line in WaterfallText(timeline: run.journal.timeline, style: Terminal(.standardOutput).style)
            .lines
        {
            run.display.output(line)
        }
        let isDrawn = run.drawWaterfall()
        let isTraced = run.writeTrace()
        run.display.output("")
        run.display.finish(saying: run.journal.summary)
        if let signal = ending.signal { return 128 + signal }
        guard case .success = ending.result, isDrawn, isTraced, run.display.brokenOutput.currentResult == nil
        else { return 1 }
        return 0
    }
}
