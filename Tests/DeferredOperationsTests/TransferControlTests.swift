import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

/// Closures that decide about redirects and answers.
@Suite(.timeLimit(.minutes(5)))
struct TransferControlTests {
    let fixture = TransferFixture()

    @Test("A redirect is followed, stopped or changed, as the closure decides")
    func decisions() async throws {
        for path in ["/target", "/other"] { fixture.server.route(path, .echo) }
        let (seen, other) = (Observations<String>(), fixture.url("/other"))
        let decide = { @Sendable (redirect: TransferRedirect) -> Deferred<TransferRedirect.Decision> in
            let status = redirect.response.statusCode
            seen.note("\(redirect.count) \(redirect.request.url!.path) \(status) \(redirect.next.url!.path)")
            if status == 307 { return .resolved(.stop) }
            var changed = redirect.next
            changed.url = other
            changed.setValue("yes", forHTTPHeaderField: "X-Mine")
            return .resolved(status == 308 ? .change(changed) : .follow)
        }
        let followed = try await fixture.load(.redirect(to: "/target")) { $1.onRedirect = decide }
        #expect(followed.data.text.hasPrefix("GET /target") && seen.all == ["1 /it 302 /target"])
        let failure = try await fixture.refusal(of: .redirect(to: "/target", status: 307)) {
            $1.onRedirect = decide
        }
        #expect(failure.code == 307 && failure.body.text == "moved to /target\n")
        #expect(failure[header: "location"] == "/target")
        let changed = try await fixture.load(.redirect(to: "/target", status: 308)) {
            $1.onRedirect = decide
        }
        #expect(changed.data.text.hasPrefix("GET /other") && changed.data.text.contains("X-Mine: yes"))
    }

    @Test("A redirect that is changed for ever is an error")
    func endlessChanges() async throws {
        await expectFailure("tooManyRedirects") {
            throw await fixture.failure(of: .redirect(to: "/target")) {
                $1.onRedirect = { .resolved(.change($0.request)) }
            }
        }
    }

    @Test("What the redirect closure throws, or its Deferred fails with, is the failure")
    func throwing() async throws {
        struct Mine: Error {}
        for isThrown in [true, false] {
            let error = await fixture.failure(of: .redirect(to: "/target")) {
                $1.onRedirect = { _ in if isThrown { throw Mine() } else { .rejected(Mine()) } }
            }
            #expect(error is Mine)
        }
    }

    @Test("A redirect closure's answer is limited in time", arguments: ["silence", "total"])
    func neverAnswers(_ limit: String) async throws {
        let clock = ManualClock()
        fixture.server.route("/it", .redirect(to: "/target"))
        var options = TransferOptions(
            silenceTimeout: limit == "silence" ? .seconds(8) : .seconds(3600),
            totalTimeout: .seconds(limit == "total" ? 8 : 3600), timer: clock)
        let (asked, cancelled) = (Deferred<Void>(), Deferred<Void>())
        let kept = Observations<Deferred<TransferRedirect.Decision>>()
        options.onRedirect = { _ in
            let answer = Deferred<TransferRedirect.Decision>(canceller: { _ in cancelled.resolve() })
            kept.note(answer)
            asked.resolve()
            return answer
        }
        let request = URLDataSource(fixture.url("/it"), options: options).request(on: fixture.queue)
        try await asked.value
        for _ in 0..<10 { clock.advance(by: .seconds(1)) }
        await expectFailure("timedOut") { try await request.value }
        try await cancelled.value
    }

    enum Blocking: CaseIterable { case verify, validate, redirect, challenge, bodyStream, progress }

    /// Serialized, because each case blocks one of the global queues' threads, of which there may be two.
    @Test("A closure is limited in time", .serialized, arguments: Blocking.allCases)
    func neverReturns(_ closure: Blocking) async throws {
        let clock = ManualClock()
        var options = TransferOptions(
            silenceTimeout: .seconds(3600), totalTimeout: .seconds(100), timer: clock)
        let (called, mayReturn) = (Observations<Void>(), DispatchSemaphore(value: 0))
        defer { mayReturn.signal() }
        @Sendable func block() {
            called.note(())
            mayReturn.wait()
        }
        var (request, answer) = (URLRequest(url: fixture.url("/it")), Answer.pattern(100))
        var verify: (@Sendable (URL) -> Void)?
        switch closure {
        case .verify: verify = { _ in block() }
        case .validate: options.validateResponse = { _ in block() }
        case .progress:
            answer = .stalled(after: 10, of: 20)
            options.onProgress = { _ in block() }
        case .redirect:
            answer = .redirect(to: "/target")
            options.onRedirect = { _ in
                block()
                return .resolved(.follow)
            }
        case .challenge:
            answer = .status(401)
            options.onChallenge = { _ in
                block()
                return .resolved(nil)
            }
        case .bodyStream:
            request.httpMethod = "PUT"
            options.makeBodyStream = {
                block()
                return InputStream(data: Data([1]))
            }
        }
        fixture.server.route("/it", answer)
        let download = DownloadDataSource(
            request, to: fixture.file("it"), options: .init(verify: verify), transfer: options
        )
        .request(on: fixture.queue)
        await called.wait(for: 1)
        clock.advance(by: .seconds(100))
        await expectFailure("timedOut", "not done after") { try await download.value }
        #expect(fixture.names.isEmpty)
    }

    @Test("O2: cancelled while the redirect closure decides, at whatever moment")
    func cancelledWhileAsked() async throws {
        fixture.server.route("/it", .redirect(to: "/target"))
        fixture.server.route("/target", .stalled)
        for round in 0..<40 {
            let asked = Deferred<Void>()
            let answer = Deferred<TransferRedirect.Decision>()
            var options = TransferOptions.patient
            options.onRedirect = { _ in
                asked.resolve()
                return round % 2 == 0 ? answer : .resolved(.stop)
            }
            if round % 4 == 3 { options.acceptedStatuses = [302] }
            let request = URLDataSource(fixture.url("/it"), options: options).request(on: fixture.queue)
            if round % 4 == 0 { try await asked.value }
            request.cancel()
            answer.resolve(.follow)
            _ = await request.result
        }
        await fixture.server.waitUntilIdle()
    }

    @Test("A closure validates the head of an answer, and what it throws ends the transfer")
    func validation() async throws {
        struct WrongType: Error {}
        let validate: @Sendable (HTTPURLResponse) throws -> Void = {
            guard $0.mimeType == "text/plain" else { throw WrongType() }
        }
        #expect(try await fixture.load(.text("x")) { $1.validateResponse = validate }.data.text == "x")
        for answer in [Answer.json("{}"), .stalled(after: 10, of: 20)] {
            let error = await fixture.failure(of: answer) { $1.validateResponse = validate }
            #expect(error is WrongType)
            await fixture.server.waitUntilIdle()
        }
        var options = TransferOptions.patient
        options.validateResponse = validate
        await #expect(throws: WrongType.self) {
            try await fixture.download(.json("{}"), transfer: options).value
        }
        #expect(fixture.names.isEmpty)
    }

    @Test("Objects that closures capture are deallocated where no other transfer waits")
    func deallocation() async throws {
        final class Captured: Sendable {
            let loaded: Observations<String>
            let url: URL
            init(_ loaded: Observations<String>, _ url: URL) { (self.loaded, self.url) = (loaded, url) }
            deinit {
                let page = try? URLDataSource(url, options: .patient).request(on: OperationQueue())
                    .wait(timeout: .seconds(300))
                loaded.note(page?.data.text ?? "nothing")
            }
        }
        fixture.server.route("/it", .stalled)
        fixture.server.route("/other", .text("fine"))
        let loaded = Observations<String>()
        for round in 1...30 {
            var options = TransferOptions.patient
            do {
                let captured = Captured(loaded, fixture.url("/other"))
                options.onProgress = { _ in withExtendedLifetime(captured) {} }
            }
            let request = URLDataSource(fixture.url("/it"), options: options).request(on: fixture.queue)
            options = .patient
            await fixture.server.waitForRequests(underWay: 1)
            request.cancel()
            _ = await request.result
            await loaded.wait(for: round)
        }
        #expect(loaded.all.allSatisfy { $0 == "fine" })
    }
}
