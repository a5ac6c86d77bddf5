import Deferred
import DeferredTesting
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import DeferredOperations

@Suite(.watchdog(atOnce: .few))
struct RequestRetryTests {
    let fixture = TransferFixture()

    private func retrying(_ method: String, timer clock: ManualClock) -> Deferred<URLDataSource.Response> {
        var request = URLRequest(url: fixture.url("/it"))
        request.httpMethod = method
        return Deferred.retry(
            attempts: 4, delay: .retryAfter(random: { 0 }), timer: clock,
            when: DataSourceError.isWorthRepeating(request)
        ) { [fixture, request] in fixture.request { prepared, _ in prepared = request } }
    }

    @Test("O6: what may pass is asked again, after as long as the server wants, or twice as long each time")
    func delays() async throws {
        fixture.server.route(
            "/it", .status(500), .unavailable(retryAfter: "7"), .unavailable(retryAfter: "1", status: 429),
            .text("there"))
        let clock = ManualClock()
        let page = retrying("GET", timer: clock)
        for delay in [1, 7, 4] {
            try await clock.whenScheduled().value
            #expect(clock.scheduled == [.seconds(delay)])
            clock.advance(by: .seconds(delay))
        }
        #expect(try await page.value.data.text == "there")
        #expect(fixture.server.requests.count == 4)
    }

    @Test("O6: what is not safe to repeat is repeated only if the server cannot have acted on it")
    func unsafe() async throws {
        let clock = ManualClock()
        fixture.server.route("/it", .status(500), .text("twice"))
        await #expect(throws: DataSourceError.self) { try await retrying("POST", timer: clock).value }
        #expect(fixture.server.requests.count == 1)

        fixture.server.route("/it", .unavailable(retryAfter: "0", status: 429), .text("once"))
        let page = retrying("POST", timer: clock)
        try await clock.whenScheduled().value
        clock.advance(by: .seconds(1))
        #expect(try await page.value.data.text == "once")
    }

    @Test("O6: what may pass is asked again, and nothing else")
    func transient() {
        let url = fixture.url("/")
        let isWorthRepeating = DataSourceError.isWorthRepeating(URLRequest(url: url))
        func status(_ code: Int) -> DataSourceError {
            .status(.init(.of("http://a", code), url: url, body: Data()))
        }
        let transient: [DataSourceError] = [
            .connectionLost(url, reason: ""), .cannotConnect(url, reason: ""),
            .truncated(url, received: 1, expected: 9), .timedOut(url, .total(.zero)), status(408),
            status(503),
        ]
        let final: [DataSourceError] = [
            .malformedContent(url, reason: ""), .malformedResponse(url, reason: ""), status(404),
            .tooManyRedirects(url, count: 20, last: url), .tooLarge(url, limit: 1),
        ]
        #expect(transient.allSatisfy(isWorthRepeating) && !final.contains(where: isWorthRepeating))
        #expect(!isWorthRepeating(CancellationError()))
    }

    @Test("O6: Retry-After is read as seconds or as a date")
    func retryAfter() throws {
        func delay(_ text: String) -> Duration? {
            let response = HTTPURLResponse.of("http://a", 503, ["Retry-After": text])
            return DataSourceError.StatusFailure(response, url: fixture.url("/"), body: Data()).retryAfter
        }
        #expect(delay("120") == .seconds(120))
        for past in [" 0 ", "Sat, 01 Jan 2022 00:00:00 GMT"] { #expect(delay(past) == .zero) }
        for text in ["soon", "-5"] { #expect(delay(text) == nil) }
        #expect(try #require(delay("Fri, 01 Jan 2100 00:00:00 GMT")) > .seconds(86_400 * 365))
    }
}
