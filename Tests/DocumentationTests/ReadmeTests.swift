import Deferred
import DeferredTesting
import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite struct ReadmeTests {
    let eventLog = SharedLog<String>()

    @Test("README: the most basic example")
    func basic() {
        ReadmeBasic(print: eventLog.add).run()
        #expect(eventLog.all == ["Hello, world!"])
    }

    @Test("README: a callback API that returns a value, an error, or never calls back")
    func callbackAPI() throws {
        let loaded = ReadmeCallbackAPI { _, completion in completion([1, 2], nil) }.load("a")
        #expect(try loaded.currentResult?.get() == [1, 2])
        let failed = ReadmeCallbackAPI { _, completion in completion(nil, Refused()) }.load("a")
        #expect(throws: Refused.self) { try failed.currentResult?.get() }
        let forgotten = ReadmeCallbackAPI { _, _ in }.load("a")
        #expect(throws: DeferredError.abandoned) { try forgotten.currentResult?.get() }
    }

    @Test("README: log in, then two requests at once, failures handled once")
    func composition() {
        let profile = Deferred<String>()
        let friends = Deferred<[String]>()
        func home(_ session: Deferred<Int>) -> Deferred<Void> {
            ReadmeComposition(
                service: .init(
                    logIn: { _ in session }, profileOf: { _ in profile }, friendsOf: { _ in friends }),
                screen: .init(draw: eventLog.add)
            ).showHome(for: "ann")
        }
        let shown = home(.resolved(7))
        friends.resolve(["bob"])
        #expect(shown.currentResult == nil)
        profile.resolve("Ann")
        #expect(eventLog.all == ["Ann with [\"bob\"]"])
        home(.rejected(Refused())).done { self.eventLog.add("handled") }
        #expect(eventLog.all.suffix(2) == ["refused", "handled"])
    }

    @Test("README: cancelling the composition cancels the requests in progress")
    func compositionCancelled() {
        let profile = Deferred<String>(canceller: { _ in eventLog.add("profile cancelled") })
        let friends = Deferred<[String]>(canceller: { _ in eventLog.add("friends cancelled") })
        let shown = ReadmeComposition(
            service: .init(
                logIn: { _ in .resolved(7) }, profileOf: { _ in profile }, friendsOf: { _ in friends }),
            screen: .init(draw: eventLog.add)
        ).showHome(for: "ann")
        shown.cancel()
        #expect(eventLog.all.sorted() == ["CancellationError()", "friends cancelled", "profile cancelled"])
    }

    private func pages(_ fetch: @escaping @Sendable (String) -> Deferred<String>) -> ReadmePages {
        ReadmePages(
            findPage: { .resolved("/\($0)") }, fetchPage: fetch, addresses: ["/a", "/b"],
            print: eventLog.add
        )
    }

    @Test("README: a Deferred returned from a callback")
    func nested() throws {
        let length = pages { .resolved("page \($0)") }.nested()
        #expect(try length.currentResult?.get() == "page /index".count)
    }

    @Test("README: await")
    func awaited() async throws {
        #expect(try await pages { .resolved("page \($0)") }.awaited() == "PAGE /INDEX")
    }

    @Test("README: two callers share one request")
    func shared() throws {
        let (first, second) = ReadmeCache.share()
        let request = try successResult(of: ReadmeCache.requests.get())
        first.cancel()
        request.resolve("a page")
        #expect(try successResult(of: second) == "a page")
        try expectNoResult(ReadmeCache.requests.get())
    }

    @Test("README: a test that does not wait")
    func testing() throws {
        let slow = Deferred<String>()
        try pages { $0 == "/slow" ? slow : .resolved("<html>") }.testing()
    }

    @Test("README: a run is recorded", .ownThreads)
    func recorded() async throws {
        let traceFile = FileManager.default.temporaryDirectory.appending(path: "trace-\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: traceFile) }
        try await pages { _ in .resolved("<html>") }.recorded(in: traceFile)
        #expect(eventLog.all.first?.contains("ReadmeExamples.swift") == true)
        #expect(try String(contentsOf: traceFile, encoding: .utf8).contains("traceEvents"))
    }

    @Test("README: the first of a list, and the others cancelled")
    func race() {
        let a = Deferred<String>(canceller: { _ in eventLog.add("a cancelled") })
        let b = Deferred<String>()
        pages { $0 == "/a" ? a : b }.race()
        b.resolve("bb")
        #expect(eventLog.all == ["/b was first, with 2 characters", "a cancelled"])
    }

    @Test(
        "README: a finalizer runs after everything above it, whether opening takes time or not",
        arguments: [true, false])
    func finalizer(opensAtOnce: Bool) {
        let (opened, answer) = (Deferred<Void>(), Deferred<String>())
        if opensAtOnce { opened.resolve() }
        ReadmeFinalizer(
            connection: .init(open: { opened }, ask: { _ in answer }, close: { eventLog.add("closed") }),
            print: eventLog.add
        ).run()
        if !opensAtOnce { opened.resolve() }
        #expect(eventLog.all == [])
        answer.resolve("well")
        #expect(eventLog.all == ["well", "closed"])
    }

    @Test("README: the shortest of three")
    func fetching() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        for (path, body) in [("/a", "aaaaaa"), ("/b", "bb"), ("/c", "cccc")] {
            server.route(path, .text(body))
        }
        let printed = DeferredQueue<String>()
        ReadmeFetching(
            addresses: ["/a", "/b", "/c"].map { URL(string: server.url($0))! },
            print: { try? printed.put($0) }
        ).run()
        #expect(try await printed.get().value == "bb")
    }

    @Test("README: time limits and retries")
    func time() async throws {
        func load() -> (text: Deferred<String>, spinner: Deferred<Void>) {
            ReadmeTime(loadText: { .resolved($0) }, showSpinner: {}).run()
        }
        var quick = load()
        // On a busy machine, the spinner's 250 ms may pass before the load has ended.
        for _ in 0..<20 {
            guard case .success? = quick.spinner.currentResult else { break }
            quick = load()
        }
        #expect(try successResult(of: quick.text) == "index")
        #expect(try failureResult(of: quick.spinner) is CancellationError)
        // The spinner's callback resolves it, on the timer's thread, so the test does not depend on time.
        let (text, resolver) = Deferred<String>.withResolver()
        let slow = ReadmeTime(
            loadText: { _ in text.shielded() }, showSpinner: { resolver.resolve("late") }
        ).run()
        #expect(try await slow.text.value == "late")
    }

    @Test("README: a view that is closed")
    @MainActor func view() async throws {
        typealias Screen = ReadmeScreen
        Screen.request = Deferred(canceller: { [eventLog] _ in eventLog.add("cancelled") })
        let screen = Screen.PageScreen()
        screen.appear()
        screen.disappear()
        #expect(eventLog.all == ["cancelled"])
        Screen.request = .resolved("a page")
        screen.appear()
        while Screen.shown.isEmpty { await Task.yield() }
        #expect(Screen.shown == ["a page"])
    }

    private final class Voter: Plugin, Sendable {
        let answer: Bool
        init(_ answer: Bool) { self.answer = answer }
        func mayClose() -> Bool { answer }
    }

    @Test("README: plug-ins are asked", arguments: [true, false])
    func plugins(agree: Bool) async throws {
        let (spelling, printing) = (Voter(true), Voter(agree))
        try await ReadmePlugins(
            spelling: spelling, printing: printing, closeDocument: { eventLog.add("closed") }
        ).run().value
        #expect(eventLog.all == (agree ? ["closed"] : []))
        withExtendedLifetime((spelling, printing)) {}
    }

    @Test("README: a body in pieces, and a download that is verified")
    func transfers() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.route("/a", .text("abc"), .status(404))
        server.route("/b", .text("abc"))
        let destination = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID())")
        defer { try? FileManager.default.removeItem(at: destination) }
        let (a, b) = (URL(string: server.url("/a"))!, URL(string: server.url("/b"))!)
        let eventLog = eventLog
        let file = try await ReadmeTransfers(
            address: a, mirrors: [b], destination: destination, expected: 97 + 98 + 99,
            parser: .init { eventLog.add(String(decoding: $0, as: UTF8.self)) }
        ).run().value
        #expect(file.byteCount == 3 && eventLog.all.joined() == "abc")
    }

    @Test("README: a lock, a semaphore and a queue")
    func coordination() throws {
        let page = Deferred<String>()
        let eventLog = eventLog
        let (saved, pages) = try ReadmeCoordination(
            count: .resolved(41), written: { eventLog.add("\($0)") }, fetch: { _ in page },
            addresses: ["/a", "/b"], print: eventLog.add
        ).run()
        try successResult(of: saved)
        page.resolve("a page")
        for page in pages { #expect(try successResult(of: page) == "a page") }
        #expect(eventLog.all == ["42", "tidy up", "all jobs are done"])
    }

    @Test("README: a channel and a shared value")
    func channel() {
        let window = ReadmeChannel.Window(eventLog.add)
        #expect(ReadmeChannel(window: window).run() == 1)
        #expect(eventLog.all == ["hello"])
    }
}
