import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Runs the longer examples, which readers copy. They stand in the folder `Recipes`, too, and are the same there.
@Suite(.watchdog) final class RecipesTests {
    private let queue = OperationQueue()
    private let clock = ManualClock()
    private let eventLog = SharedLog<String>()
    private let server: LoopbackServer

    init() throws { server = try LoopbackServer() }
    deinit { server.stop() }

    @Test(
        "Recipes: what is tested here is what a page has",
        arguments: ["Requests", "TokenAdapter", "TokenBucket"])
    func recipe(name: String) throws {
        let recipe = try Package.text(of: "Tests/DocumentationTests/Recipes/\(name).swift")
        let blocks = try Document.all().flatMap(\.blocks).map { $0.code.filter { !$0.isWhitespace } }
        #expect(blocks.contains { !$0.isEmpty && recipe.filter { !$0.isWhitespace }.hasSuffix($0) })
    }

    private func request(_ path: String) -> URLRequest { URLRequest(url: URL(string: server.url(path))!) }

    /// Answers requests that have the token.
    private func guarded(by token: String) {
        server.route("/guarded") { request in
            request[header: "Authorization"] == "Bearer \(token)" ? .text("in") : .status(401)
        }
    }

    @Test("Recipes: requests that are refused at once share one renewal of the token")
    func tokens() async throws {
        guarded(by: "new")
        let renewals = SharedLog<String>()
        let renewal = Deferred<String>()
        let adapter = TokenAdapter(token: "old") {
            renewals.add("renewed")
            return renewal.shielded()
        }
        // Gets an element when a request waits for the renewal.
        let waiting = DeferredQueue<Void>()
        let requests = (0..<8).map { _ in
            let source = adapter.dataSource(for: request("/guarded"))
            var options = source.options
            options.onChallenge = { [onChallenge = options.onChallenge] challenge in
                defer { try? waiting.put(()) }
                return try onChallenge?(challenge) ?? .resolved(nil)
            }
            return URLDataSource(source.urlRequest, options: options).request(on: queue)
        }
        for _ in requests { try await waiting.get().value }
        requests[0].cancel()
        renewal.resolve("new")
        await #expect(throws: CancellationError.self) { try await requests[0].value }
        for request in requests.dropFirst() {
            #expect(try await request.value.data == Data("in".utf8))
        }
        #expect(renewals.all.count == 1)
        let later = try await adapter.dataSource(for: request("/guarded")).request(on: queue)
            .value
        #expect(later.data == Data("in".utf8) && server.requests.count == 8 + 7 + 1)
    }

    @Test("Recipes: a token is not sent to another host that a redirect leads to")
    func otherHost() async throws {
        guarded(by: "new")
        let other = try LoopbackServer()
        defer { other.stop() }
        other.route("/", .status(401))
        server.route("/moved", .redirect(to: "http://localhost:\(other.port)/"))
        let adapter = TokenAdapter(token: "old") { .resolved("new") }
        await #expect(throws: DataSourceError.self) {
            try await adapter.dataSource(for: request("/moved")).request(on: queue).value
        }
        #expect(other.requests.map { $0[header: "Authorization"] } == [nil])
    }

    @Test("Recipes: a request that is refused after the renewal uses the new token, once")
    func refusedLate() async throws {
        guarded(by: "new")
        let renewals = SharedLog<String>()
        let adapter = TokenAdapter(token: "old") {
            renewals.add("renewed")
            return .resolved("new")
        }
        let late = adapter.dataSource(for: request("/guarded"))
        for source in [adapter.dataSource(for: request("/guarded")), late] {
            #expect(try await source.request(on: queue).value.data == Data("in".utf8))
        }
        #expect(renewals.all.count == 1)

        guarded(by: "another")
        let refused = adapter.dataSource(for: request("/guarded"))
        await #expect(throws: DataSourceError.self) { try await refused.request(on: queue).value }
        #expect(server.requests.count == 4 + 2)
    }

    @Test("Recipes: a token bucket")
    func tokenBucket() throws {
        let eventLog = eventLog
        @Sendable func fetchPage(of name: String) -> Deferred<Void> {
            eventLog.add("fetches \(name)")
            return .resolved()
        }
        let names = (0..<6).map { "user \($0)" }
        let bucket = TokenBucket(capacity: 3, every: .seconds(1), timer: clock)
        let pages = names.map { name in bucket.run { fetchPage(of: name) } }
        #expect(eventLog.all.count == 3)
        pages[3].cancel()
        clock.advance(by: .seconds(1))
        #expect(eventLog.all.last == "fetches user 4")
        clock.advance(by: .seconds(1))
        #expect(eventLog.all.count == 5)
        // After a pause, as many at once as the bucket has room for.
        clock.advance(by: .seconds(100))
        let more = (0..<5).map { number in bucket.run { fetchPage(of: "guest \(number)") } }
        #expect(eventLog.all.count == 8)
        try successResult(of: pages[5])
        for page in more { page.cancel() }
        withExtendedLifetime(bucket) {}
    }

    @Test("Recipes: a token bucket that is released stops its timer and abandons those that wait")
    func releasedBucket() throws {
        var bucket: TokenBucket? = TokenBucket(capacity: 1, every: .seconds(1), timer: clock)
        _ = bucket?.run { Deferred.resolved(1) }
        let waiting = try #require(bucket?.run { Deferred.resolved(2) })
        bucket = nil
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: waiting) as? DeferredError == .abandoned)
    }

    @Test("Recipes: many requests, found by number, whose callbacks send and cancel others")
    func requests() throws {
        let (requests, eventLog) = (Requests(), eventLog)
        let first = requests.answer { eventLog.add("sends \($0)") }
        let second = first.then { _ in requests.answer { eventLog.add("sends \($0)") } }
        requests.didReceive("one", for: 1)
        let third = requests.answer { eventLog.add("sends \($0)") }
        third.cancel()
        #expect(try failureResult(of: third) is CancellationError)
        let (fourth, fifth) = (requests.answer { _ in }, requests.answer { _ in })
        second.fail { _ in
            fourth.cancel()
            _ = requests.answer { eventLog.add("sends \($0)") }
        }
        requests.didClose(Refused())
        #expect(try failureResult(of: second) is Refused)
        #expect(fourth.isSettled && fifth.isSettled)
        #expect(try failureResult(of: fifth) is Refused)
        _ = try failureResult(of: fourth)
        #expect(eventLog.all == ["sends 1", "sends 2", "sends 3", "sends 6"])
    }
}
