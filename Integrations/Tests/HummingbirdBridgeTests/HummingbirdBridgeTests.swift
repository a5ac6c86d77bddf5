import Deferred
import Hummingbird
import HummingbirdBridge
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct HummingbirdBridgeTests {
    /// Work of the server, which a test ends, and whose cancels it sees.
    private final class Work: Sendable {
        let hasBegun = Deferred<Void>()
        let wasCancelled = Deferred<Void>()
        let end: Deferred<String>
        let resolver: Deferred<String>.Resolver
        private let count = Atomic(0)
        var callerCount: Int { count.load(ordering: .relaxed) }

        init() {
            let wasCancelled = wasCancelled
            (end, resolver) = Deferred.withResolver(canceller: { _ in wasCancelled.resolve() })
        }

        func answer() -> Deferred<String> {
            if count.add(1, ordering: .relaxed).oldValue == 0 { hasBegun.resolve() }
            return end.map { $0 }
        }
    }

    /// Runs a server for as long as `body` takes, and returns when it has shut down.
    private func serve(
        _ router: Router<BasicRequestContext>, services: [any Service] = [],
        _ body: @Sendable (Int, ServiceGroup) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let (port, isRunning) = Deferred<Int>.withResolver()
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            services: services,
            onServerRunning: { channel in isRunning.resolve(channel.localAddress?.port ?? 0) }, logger: logger
        )
        let group = ServiceGroup(configuration: .init(services: [application], logger: logger))
        let running = Deferred { try await group.run() }
        try await body(try await port.value, group)
        await group.triggerGracefulShutdown()
        try await running.value
    }

    private func router(_ work: Work) -> Router<BasicRequestContext> {
        let router = Router()
        router.group("slow").add(middleware: CancelsWithClient())
            .get { _, _ in try await work.answer().value }
            .post { request, _ in
                let text = String(buffer: try await request.body.collect(upTo: 1000))
                return try await work.answer().map { "\(text) \($0)" }.value
            }
        router.get("plain") { _, _ in try await work.answer().value }
        return router
    }

    @Test("Hummingbird: a client that goes away cancels the work")
    func goesAway() async throws {
        let work = Work()
        try await serve(router(work)) { port, _ in
            let client = try await Client(port: port)
            try await client.get("/slow")
            try await work.hasBegun.value
            try await client.close()
            try await work.wasCancelled.value
        }
        #expect(work.end.isSettled)
    }

    @Test("Hummingbird: a client that goes away cancels a request with a body, too")
    func goesAwayAfterBody() async throws {
        let work = Work()
        try await serve(router(work)) { port, _ in
            let client = try await Client(port: port)
            try await client.send("POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody")
            try await work.hasBegun.value
            try await client.close()
            try await work.wasCancelled.value
        }
    }

    @Test("Hummingbird: of two clients that share work, one goes away and the other is answered")
    func shared() async throws {
        let work = Work()
        let cache = DeferredCache<String, String>()
        let (arrivals, hasLeft) = (DeferredQueue<Void>(), Deferred<Void>())
        let router = Router()
        router.add(middleware: CancelsWithClient())
        router.get("shared") { _, _ in
            let page = cache.value(for: "page") { work.answer() }
                .always { if case .failure = $0 { hasLeft.resolve() } }
            try arrivals.put(())
            return try await page.value
        }
        try await serve(router) { port, _ in
            let (first, second) = (try await Client(port: port), try await Client(port: port))
            try await first.get("/shared")
            try await arrivals.get().value
            try await second.get("/shared")
            try await arrivals.get().value
            try await first.close()
            try await hasLeft.value
            work.resolver.resolve("hello")
            #expect(try await second.received.value.hasSuffix("hello"))
        }
        #expect(!work.wasCancelled.isSettled && work.callerCount == 1)
    }

    @Test("Hummingbird: an answer behind the middleware arrives whole, with the request's body")
    func answered() async throws {
        let work = Work()
        work.resolver.resolve("hello")
        try await serve(router(work)) { port, _ in
            let client = try await Client(port: port)
            try await client.send("POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody")
            // The connection ends with the answer, although the client did not ask for that.
            let text = try await client.received.value
            #expect(text.hasPrefix("HTTP/1.1 200") && text.hasSuffix("body hello"))
        }
    }

    @Test(
        "Hummingbird: what is in progress is answered after a graceful shutdown has begun",
        arguments: ["slow", "plain"])
    func shutdown(path: String) async throws {
        let work = Work()
        try await serve(router(work)) { port, group in
            let client = try await Client(port: port)
            try await client.get("/\(path)")
            try await work.hasBegun.value
            await group.triggerGracefulShutdown()
            work.resolver.resolve("hello")
            #expect(try await client.received.value.hasSuffix("hello"))
        }
        #expect(!work.wasCancelled.isSettled)
    }

    @Test("Service: on a graceful shutdown the jobs in a queue are done, and then the program ends")
    func workers() async throws {
        let (jobs, gate) = (DeferredQueue<Int>(), Deferred<Void>())
        let done = Mutex<[Int]>([])
        let worker = jobs.run { job in gate.map { done.withLock { $0.append(job) } } }
        let router = Router()
        router.post("jobs") { _, _ in
            for job in 1...3 { try jobs.put(job) }
            return HTTPResponse.Status.accepted
        }
        let service = DeferredService(
            worker,
            onGracefulShutdown: {
                jobs.finish()
                // Only now: the jobs are still in the queue when it ends.
                gate.resolve()
            })
        try await serve(router, services: [service]) { port, _ in
            let client = try await Client(port: port)
            try await client.send(
                "POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            #expect(try await client.received.value.hasPrefix("HTTP/1.1 202"))
            #expect(done.withLock { $0.isEmpty })
        }
        #expect(done.withLock { $0 } == [1, 2, 3])
        #expect(throws: DeferredError.finished) { try jobs.put(4) }
    }

    @Test("Service: work that fails ends the program with its error; work that is done does not end it")
    func failing() async throws {
        struct Failed: Error {}
        let (work, resolver) = Deferred<Void>.withResolver()
        let done = DeferredService(.resolved(), onGracefulShutdown: {})
        let group = ServiceGroup(
            configuration: .init(
                services: [done, DeferredService(work, onGracefulShutdown: {})], logger: Logger(label: "test")
            ))
        let running = Deferred { try await group.run() }
        resolver.reject(Failed())
        await #expect(throws: Failed.self) { try await running.value }
    }

    @Test("Service: a shutdown that takes too long cancels the work")
    func tooLong() async throws {
        let wasCancelled = Deferred<Void>()
        let work = Deferred<Void>(canceller: { _ in wasCancelled.resolve() })
        var configuration = ServiceGroupConfiguration(
            services: [DeferredService(work, onGracefulShutdown: {})], logger: Logger(label: "test"))
        configuration.maximumGracefulShutdownDuration = .milliseconds(10)
        let group = ServiceGroup(configuration: configuration)
        let running = Deferred { try await group.run() }
        await group.triggerGracefulShutdown()
        try await wasCancelled.value
        _ = await running.result
    }
}
