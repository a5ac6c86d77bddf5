import Deferred
import Hummingbird
import Logging
import NIOPosix

/// An HTTP service: `Service PORT FILE`. SIGTERM ends it when what is in progress has been answered and counted.
@main
struct Program {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let port = arguments.first.flatMap({ Int($0) }), let file = arguments.last
        else {
            print("usage: Service PORT FILE")
            return
        }
        // Each callback's log lines have the id of the request that attached it, whichever thread runs it.
        DeferredTaskLocals.carry(RequestID.$current)
        LoggingSystem.bootstrap(StreamLogHandler.standardError, metadataProvider: RequestID.metadata)
        let logger = Logger(label: "service")
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let rates = Rates(timer: .eventLoop(loop), limit: .seconds(5), logger: logger)
        let notes = try Notes(in: file, logger: logger)
        var application = Application(
            router: router(rates, notes),
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in logger.info("listens on port \(channel.localAddress?.port ?? 0)") },
            logger: logger)
        // The server is shut down first, so that nothing is added to the queue when it is finished.
        application.addServices(DeferredService(notes.counting, onGracefulShutdown: { notes.added.finish() }))
        try await application.runService()
    }

    private static func router(_ rates: Rates, _ notes: Notes) -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: NamesRequests())
        router.group("rates").add(middleware: CancelsWithClient())
            .get(":currency") { _, context in
                try await rates.rate(of: context.parameters.require("currency")).map { "\($0)\n" }.value
            }
        router.get("notes") { _, _ in
            try await gather(notes.all(), notes.wordCount())
                .map { notes, count in notes.map { "\($0)\n" }.joined() + "\(count) words\n" }.value
        }
        router.post("notes") { request, _ in
            let text = String(buffer: try await request.body.collect(upTo: 10_000))
            try await notes.add(text).value
            return HTTPResponse.Status.created
        }
        return router
    }
}
