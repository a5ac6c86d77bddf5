import Deferred
import DeferredTesting
import Dispatch
import InMemoryTracing
import Logging
import ServiceContextModule
import Synchronization
import Testing
import Tracing

/// X1, X2: what a request logs and traces is its own, whoever runs the code. As at the start of a program, one line names
/// what is carried: `DeferredTaskLocals.carry(ServiceContext.$current)`.
@Suite struct RequestContextTests {
    private static let start: Void = DeferredTaskLocals.carry(ServiceContext.$current)

    private let clock = ManualClock()
    private let semaphore = DeferredSemaphore(1)
    private let cache = DeferredCache<String, String>(keepingFor: .seconds(60), timer: ManualClock())
    private let queue = DispatchQueue(label: "hop")
    private let lines = Lines()
    private let logger: Logger

    init() {
        Self.start
        let lines = lines
        logger = Logger(label: "requests") { _ in LineHandler(lines: lines) }
    }

    /// What a server does for a request. Each line names the request that the code was written for; the metadata of the
    /// logger must say the same.
    private func answer(_ request: String) -> Deferred<String> {
        let attempts = Atomic(0)
        return semaphore.run { [logger, cache, clock] in
            logger.info("\(request) has the permit")
            return Deferred<String>.retry(attempts: 2, delay: .constant(.seconds(1)), timer: clock) { _ in
                logger.info("\(request) tries")
                if attempts.add(1, ordering: .relaxed).newValue == 1 { throw Refused() }
                // What two requests share belongs to the one that began it.
                return cache.value(for: "rates") {
                    logger.info("\(request) loads for all")
                    return Deferred.after(.seconds(1), timer: clock, value: "rates")
                }
            }
        }
        .then { [logger] rates in
            DeferredList(0..<3, limit: 1) { number in
                logger.info("\(request) begins \(number)")
                return Deferred.resolved(number)
            }.values().map { _ in rates }
        }
        .map(on: queue) { [logger] rates in
            logger.info("\(request) hops")
            return rates
        }
        .asyncMap { [logger] rates in
            logger.info("\(request) awaits")
            await Task.yield()
            return "\(request): \(rates)"
        }
        .always { [logger] _ in logger.info("\(request) ends") }
    }

    @Test(
        "X2: each log line has the id of its request, through permits, attempts, a shared cache, lists, hops and awaits"
    )
    func logging() async throws {
        let answers = ["A", "B", "C"].map { request in
            var context = ServiceContext.topLevel
            context.requestID = request
            return ServiceContext.$current.withValue(context) { answer(request) }
        }
        // Nobody's context is current where the rest happens.
        while !answers.allSatisfy({ $0.isSettled }) {
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
        for (request, answer) in zip(["A", "B", "C"], answers) {
            #expect(try await answer.value == "\(request): rates")
        }
        let all = lines.all
        #expect(all.allSatisfy { $0.id == $0.text.prefix(1) }, "\(all)")
        #expect(all.count == 3 * 9 + 1)
        #expect(all.count { $0.text.hasSuffix("loads for all") } == 1)
    }

    @Test("X2: a span that is begun in a callback belongs to the span of its request")
    func tracing() async throws {
        let tracer = InMemoryTracer()
        let (semaphore, clock) = (DeferredSemaphore(1), clock)
        let answers = ["A", "B"].map { request in
            tracer.withSpan("request \(request)") { _ in
                semaphore.run { Deferred.after(.seconds(1), timer: clock) }
                    .map { tracer.withSpan("step of \(request)") { _ in } }
                    .asyncMap { await tracer.withSpan("await of \(request)") { _ in await Task.yield() } }
            }
        }
        clock.advance(by: .seconds(1))
        clock.advance(by: .seconds(1))
        for answer in answers { try await answer.value }
        let spans = tracer.finishedSpans
        for request in ["A", "B"] {
            let parent = try #require(spans.first { $0.operationName == "request \(request)" })
            for name in ["step of \(request)", "await of \(request)"] {
                let span = try #require(spans.first { $0.operationName == name })
                #expect(span.parentSpanID == parent.spanID && span.traceID == parent.traceID)
            }
        }
    }

    @Test("X1: without a key that is named, a body that is asynchronous sees its request, too")
    func asynchronous() async throws {
        let lock = DeferredLock()
        let held = try #require(lock.tryAcquire())
        let name = OtherKey.$name.withValue("A") { lock.asyncRun { OtherKey.name } }
        OtherKey.$name.withValue("B") { held.release() }
        #expect(try await name.value == "A")
    }

    private enum OtherKey { @TaskLocal static var name = "none" }
    private struct Refused: Error {}
}

private enum RequestIDKey: ServiceContextKey { typealias Value = String }

extension ServiceContext {
    fileprivate var requestID: String? {
        get { self[RequestIDKey.self] }
        set { self[RequestIDKey.self] = newValue }
    }
}

/// What was logged, with the id of the request that the metadata provider has seen.
private final class Lines: Sendable {
    private let lines = Mutex<[(id: String, text: String)]>([])
    var all: [(id: String, text: String)] { lines.withLock { $0 } }
    func add(_ id: String, _ text: String) { lines.withLock { $0.append((id, text)) } }
}

private struct LineHandler: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info
    var metadataProvider: Logger.MetadataProvider? = .init {
        ["request": .string(ServiceContext.current?.requestID ?? "none")]
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.add("\(metadataProvider?.get()["request"] ?? "-")", "\(event.message)")
    }
}
