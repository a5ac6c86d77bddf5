import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RequestRetryTests {
    let fixture: TransferFixture

    init() throws { fixture = try TransferFixture() }

    private func retrying(_ method: String, on clock: ManualClock) -> Deferred<URLDataSource.Response> {
        var request = URLRequest(url: fixture.url("/it"))
        request.httpMethod = method
        let (prepared, queue) = (request, fixture.queue)
        return Deferred.retry(
            attempts: 4, delay: .retryAfter(random: { 0 }), on: clock,
            when: DataSourceError.isWorthRepeating(prepared)
        ) {
            URLDataSource(prepared, options: .patient).request(on: queue)
        }
    }

    @Test("O6: what may pass is asked again, after as long as the server wants, or twice as long each time")
    func delays() async throws {
        fixture.server.route(
            "/it", .status(500), .unavailable(retryAfter: "7"), .unavailable(retryAfter: "1", status: 429),
            .text("there"))
        let clock = ManualClock()
        let page = retrying("GET", on: clock)
        for delay in [1, 7, 4] {
            try await clock.whenScheduled().value
            #expect(clock.scheduled == [.seconds(delay)])
            clock.advance(by: .seconds(delay))
        }
        #expect(try await page.value.data.text == "there")
        #expect(fixture.server.requests.count == 4)
    }

    @Test("O6: broken connections are tried again, on a new connection")
    func broken() async throws {
        fixture.server.route("/it", .reset, .truncated(after: 1, of: 9), .hungUp, .text("there"))
        let clock = ManualClock()
        let page = retrying("GET", on: clock)
        for _ in 0..<3 {
            try await clock.whenScheduled().value
            clock.advance(by: .seconds(60))
        }
        #expect(try await page.value.data.text == "there")
    }

    @Test("O6: what is not safe to repeat is repeated only if the server cannot have acted on it")
    func unsafe() async throws {
        let clock = ManualClock()
        fixture.server.route("/it", .status(500), .text("twice"))
        await #expect(throws: DataSourceError.self) { try await retrying("POST", on: clock).value }
        #expect(fixture.server.requests.count == 1)

        fixture.server.route("/it", .unavailable(retryAfter: "0", status: 429), .text("once"))
        let page = retrying("POST", on: clock)
        try await clock.whenScheduled().value
        clock.advance(by: .seconds(1))
        #expect(try await page.value.data.text == "once")
    }

    @Test("O6: what will not pass is not asked again")
    func final() async throws {
        let clock = ManualClock()
        for answer in [Answer.status(404), .badGzip, .malformed, .redirect(to: "/it")] {
            let before = fixture.server.requests.count
            fixture.server.route("/it", answer)
            await #expect(throws: DataSourceError.self) { try await retrying("GET", on: clock).value }
            let asked = fixture.server.requests.count - before
            #expect(asked == 1 || asked == 21)
        }
    }

    @Test("O6: Retry-After is read as seconds or as a date")
    func retryAfter() async throws {
        func failure(_ text: String) async -> Duration? {
            fixture.server.route("/it", .unavailable(retryAfter: text))
            let result = await URLDataSource(fixture.url("/it"), options: .patient).request(on: fixture.queue)
                .result
            guard case .failure(DataSourceError.status(let failure)) = result else { return nil }
            return failure.retryAfter
        }
        #expect(await failure("120") == .seconds(120))
        #expect(await failure(" 0 ") == .zero)
        #expect(await failure("Sat, 01 Jan 2022 00:00:00 GMT") == .zero)
        #expect(await failure("soon") == nil)
        #expect(await failure("-5") == nil)
        let later = try #require(await failure("Fri, 01 Jan 2100 00:00:00 GMT"))
        #expect(later > .seconds(86_400 * 365))
    }
}
