import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Closures that decide about redirects, challenges and answers.
@Suite(.watchdog(atOnce: .few))
struct TransferControlTests {
    let fixture = StubFixture()

    @Test("A redirect is followed, stopped or changed, as the closure decides")
    func decisions() async throws {
        let fixture = TransferFixture()
        for path in ["/target", "/other"] { fixture.serve(path, .echo) }
        let (seen, other) = (Observations<String>(), fixture.url("/other"))
        func deciding(_ options: inout TransferOptions) {
            options.onRedirect = { redirect in
                let (status, next) = (redirect.response.statusCode, redirect.next)
                seen.note("\(redirect.count) \(redirect.request.url!.path) \(status) \(next.url!.path)")
                var changed = next
                changed.url = other
                changed.setValue("yes", forHTTPHeaderField: "X-Mine")
                return .resolved(status == 307 ? .stop : status == 308 ? .change(changed) : .follow)
            }
        }
        let followed = try await fixture.load(.redirect(to: "/target")) { deciding(&$1) }
        #expect(followed.data.text.hasPrefix("GET /target") && seen.all == ["1 /it 302 /target"])
        let failure = try await fixture.refusal(of: .redirect(to: "/target", status: 307)) { deciding(&$1) }
        #expect(failure.code == 307 && failure.body.text == "moved to /target\n")
        #expect(failure[header: "location"] == "/target")
        let changed = try await fixture.load(.redirect(to: "/target", status: 308)) { deciding(&$1) }
        #expect(changed.data.text.hasPrefix("GET /other") && changed.data.text.contains("X-Mine: yes"))
        await expectFailure("tooManyRedirects") {
            try await fixture.load(.redirect(to: "/target")) {
                $1.onRedirect = { .resolved(.change($0.request)) }
            }
        }
    }

    @Test(
        "A challenge is answered by the hook; without one, or if it returns nil, 401 is a failure",
        arguments: ["Basic realm=\"x\"", "Bearer", "Digest realm=\"x\", nonce=\"y\""])
    func challenge(_ scheme: String) async throws {
        let fixture = TransferFixture()
        let guarded = Answer { exchange in
            if exchange.request[header: "Authorization"] == "Basic bWU6c2VjcmV0" {
                try exchange.sendHead(200, contentLength: 2)
                try exchange.send("in")
            } else {
                try exchange.sendHead(401, [("WWW-Authenticate", scheme)], contentLength: 3)
                try exchange.send("out")
            }
        }
        let failure = try await fixture.refusal(of: guarded)
        #expect(failure.code == 401 && failure.body.text == "out")

        let attempts = Observations<Int>()
        let page = try await fixture.load(guarded) {
            $1.onChallenge = { challenge in
                attempts.note(challenge.attempt)
                let password = challenge.attempt == 2 ? "secret" : "wrong"
                return .resolved(challenge.answered(user: "me", password: password))
            }
        }
        #expect(page.data.text == "in" && attempts.all == [1, 2])

        let refused = try await fixture.refusal(of: guarded) {
            $1.onChallenge = { .resolved($0.answered(user: "me", password: "wrong")) }
        }
        #expect(refused.code == 401)
    }

    @Test(
        "What a deciding closure throws, or its Deferred fails with, is the failure", arguments: [302, 401])
    func failures(_ status: Int) async throws {
        struct Mine: Error {}
        @Sendable func answer<Answer: Sendable>(_ way: Int) throws -> Deferred<Answer> {
            switch way {
            case 0: throw Mine()
            case 1: .rejected(Mine())
            case 2: Deferred()  // A1: it is abandoned, as is a resolver that is dropped.
            default: Deferred { (_: Deferred<Answer>.Resolver) in }
            }
        }
        for way in 0..<4 {
            let asking: StubTransport.Answer = status == 401 ? .status(401) : .redirect(to: "/target")
            let error = await fixture.failure(of: asking) {
                $1.onRedirect = { _ in try answer(way) }
                $1.onChallenge = { _ in try answer(way) }
            }
            #expect(way < 2 ? error is Mine : error as? DeferredError == .abandoned, "\(way)")
        }
    }

    // MARK: Time

    @Test("A closure's answer is limited in time, and cancelled then", arguments: ["silence", "total"])
    func neverAnswers(_ limit: String) async throws {
        let (clock, hour) = (ManualClock(), Duration.seconds(3600))
        let (asked, cancelled) = (Deferred<Void>(), Deferred<Void>())
        let answer = Deferred<TransferRedirect.Decision>(canceller: { _ in cancelled.resolve() })
        let request = fixture.request(.redirect(to: "/target")) { _, options in
            options.silenceTimeout = limit == "silence" ? .seconds(8) : hour
            options.totalTimeout = limit == "total" ? .seconds(8) : hour
            options.timer = clock
            options.onRedirect = { _ in
                asked.resolve()
                return answer
            }
        }
        try await asked.value
        for _ in 0..<10 { clock.advance(by: .seconds(1)) }
        await expectFailure("timedOut") { try await request.value }
        try await cancelled.value
    }

    enum Blocking: CaseIterable { case verify, validate, redirect, challenge, bodyStream, progress }

    /// Serialized, because each case blocks one of the global queues' threads, of which there may be two.
    @Test("A closure is limited in time", .serialized, arguments: Blocking.allCases)
    func neverReturns(_ blocking: Blocking) async throws {
        let (clock, called) = (ManualClock(), Observations<Void>())
        let mayReturn = DispatchSemaphore(value: 0)
        defer { mayReturn.signal() }
        @Sendable func call<Value>(_ closure: Blocking, _ value: Value) -> Value {
            guard closure == blocking else { return value }
            called.note(())
            mayReturn.wait()
            return value
        }
        let answers: [Blocking: StubTransport.Answer] = [
            .redirect: .redirect(to: "/target"), .challenge: .status(401),
            .progress: .stalled(after: 10, of: 20),
        ]
        fixture.serve("/it", answers[blocking] ?? .pattern(100))
        var request = URLRequest(url: fixture.url())
        request.httpMethod = "PUT"
        let options = TransferOptions(
            silenceTimeout: .seconds(3600), totalTimeout: .seconds(100), timer: clock,
            makeBodyStream: { call(.bodyStream, InputStream(data: Data([1]))) },
            onProgress: { _ in call(.progress, ()) },
            onChallenge: { _ in call(.challenge, .resolved(nil)) },
            onRedirect: { _ in call(.redirect, .resolved(.follow)) },
            validateResponse: { _ in call(.validate, ()) })
        let download = DownloadDataSource(
            request, to: fixture.file(), options: options,
            download: .init(verify: { _ in call(.verify, ()) }),
            session: fixture.session
        ).request(on: fixture.queue)
        await called.wait(for: 1)
        clock.advance(by: .seconds(100))
        await expectFailure("timedOut", "not done after") { try await download.value }
        #expect(fixture.names.isEmpty)
    }

    // MARK: Cancels

    /// Returns a request that waits for the answer to its challenge.
    private func asked(_ answer: Deferred<URLRequest?>) async throws -> Deferred<URLDataSource.Response> {
        let asked = Deferred<Void>()
        let request = fixture.request(.status(401)) {
            $1.onChallenge = { _ in
                asked.resolve()
                return answer
            }
        }
        try await asked.value
        return request
    }

    @Test("C3: a cancel reaches a challenge's answer, unless that is shared", arguments: [false, true])
    func pendingChallenge(isShared: Bool) async throws {
        let cancelled = Observations<Void>()
        let (answer, resolver) = Deferred<URLRequest?>.withResolver(canceller: { _ in cancelled.note(()) })
        let other = isShared ? answer.map { $0 == nil } : nil
        let request = try await asked(answer)
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
        if !isShared {
            await cancelled.wait(for: 1)
            // Its canceller has been called, but may not have returned yet.
            await #expect(throws: CancellationError.self) { try await answer.value }
        }
        #expect(resolver.resolve(nil) == isShared)
        #expect(try await other?.value != false)
    }

    @Test("O2: cancelled while the redirect closure decides, at whatever moment")
    func cancelledWhileAsked() async throws {
        fixture.serve("/target", .stalled)
        for round in 0..<40 {
            let (asked, answer) = (Deferred<Void>(), Deferred<TransferRedirect.Decision>())
            let request = fixture.request(.redirect(to: "/target")) {
                $1.onRedirect = { _ in
                    asked.resolve()
                    return round % 2 == 0 ? answer : .resolved(.stop)
                }
                if round % 4 == 3 { $1.acceptedStatuses = [302] }
            }
            if round % 4 == 0 { try await asked.value }
            request.cancel()
            answer.resolve(.follow)
            _ = await request.result
        }
        await fixture.server.waitUntilIdle()
    }

    // MARK: Nothing of the user's runs under a lock

    @Test("A challenge's canceller may wait for another transfer")
    func blockingCanceller() async throws {
        fixture.serve("/other", .text("fine"))
        let other = Observations<String>()
        let (answer, resolver) = Deferred<URLRequest?>.withResolver(canceller: { [fixture] _ in
            let page = try? fixture.request(path: "/other").wait(timeout: .seconds(3600))
            other.note(page?.data.text ?? "nothing")
        })
        let request = try await asked(answer)
        request.cancel()
        await other.wait(for: 1)
        #expect(other.all == ["fine"] && resolver.isCancelled)
    }

    @Test(
        "O3: a cancel leaves the session to others, also to those that begin where captures are deallocated")
    func deallocation() async throws {
        final class Captured: Sendable {
            let loaded: Observations<String>
            let fixture: StubFixture
            init(_ loaded: Observations<String>, _ fixture: StubFixture) {
                (self.loaded, self.fixture) = (loaded, fixture)
            }
            deinit {
                let page = try? fixture.request(path: "/other").wait(timeout: .seconds(3600))
                loaded.note(page?.data.text ?? "nothing")
            }
        }
        fixture.serve("/it", .stalled)
        fixture.serve("/other", .text("fine"))
        let loaded = Observations<String>()
        for round in 1...30 {
            let request = fixture.request {
                let captured = Captured(loaded, fixture)
                $1.onProgress = { _ in withExtendedLifetime(captured) {} }
            }
            await fixture.server.waitForRequests(underWay: 1)
            request.cancel()
            _ = await request.result
            await loaded.wait(for: round)
        }
        #expect(loaded.all.allSatisfy { $0 == "fine" })
    }

    /// A timer whose work reads the transfer's metrics when it is cancelled and when it is deallocated.
    private struct ReadingTimer: DelayedDispatcher {
        let watched: Watched

        func dispatch(_ work: @escaping @Sendable () -> Void) { DispatchQueue.global().async(execute: work) }

        func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
            watched.ticks.add(work)
            return Work(watched: watched)
        }

        final class Work: DelayedWork {
            let watched: Watched
            init(watched: Watched) { self.watched = watched }
            func cancel() { watched.read("cancelled") }
            deinit { watched.read("deallocated") }
        }
    }

    /// Sound as `@unchecked Sendable`: `source` is touched only under `lock`.
    private final class Watched: @unchecked Sendable {
        let (reads, ticks) = (Observations<String>(), SharedLog<@Sendable () -> Void>())
        private let lock = NSLock()
        private var source: URLDataSource?

        func watch(_ source: URLDataSource?) { lock.withLock { self.source = source } }

        func read(_ event: String) {
            _ = lock.withLock { source }?.metrics
            reads.note(event)
        }
    }

    @Test(
        "A timer may read the metrics when it is cancelled, and when its work is deallocated",
        arguments: ["success", "failure", "cancel", "replaced"])
    func reading(_ ending: String) async throws {
        let watched = Watched()
        let answer: StubTransport.Answer =
            ending == "success" ? .text("x") : ending == "failure" ? .hungUp : .stalled
        fixture.serve("/it", answer)
        let options = TransferOptions(
            silenceTimeout: .seconds(3600), totalTimeout: .seconds(3600),
            timer: ReadingTimer(watched: watched))
        let source = URLDataSource(fixture.url(), options: options, session: fixture.session)
        watched.watch(source)
        let request = source.request(on: fixture.queue)
        await fixture.server.waitForRequests(seen: 1)
        if ending == "cancel" { request.cancel() }
        // The total limit stays; the tick of the silence is replaced by the next one. Running both would end
        // the transfer by the total limit.
        if ending == "replaced" { for tick in watched.ticks.all { tick() } }
        _ = await request.result
        await watched.reads.wait(for: 4)
        if ending != "replaced" { #expect(watched.reads.all.count { $0 == "cancelled" } == 2) }
        watched.watch(nil)
    }
}
