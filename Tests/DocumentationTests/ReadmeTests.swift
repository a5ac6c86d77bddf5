import Deferred
import Testing

@Suite struct ReadmeTests {
    let journal = Journal()

    @Test("README: the most basic example")
    func basic() {
        ReadmeBasic(print: journal.write).run()
        #expect(journal.all == ["Hello, world!"])
    }

    @Test("README: a callback API, its value, its error, and its silence")
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
                screen: .init(draw: journal.write)
            ).showHome(for: "ann")
        }
        let shown = home(.resolved(7))
        friends.resolve(["bob"])
        #expect(shown.currentResult == nil)
        profile.resolve("Ann")
        #expect(journal.all == ["Ann with [\"bob\"]"])
        home(.rejected(Refused())).then { self.journal.write("handled") }
        #expect(journal.all.suffix(2) == ["refused", "handled"])
    }

    @Test("README: cancelling the composition cancels the requests under way")
    func compositionCancelled() {
        let profile = Deferred<String>(canceller: { _ in journal.write("profile cancelled") })
        let friends = Deferred<[String]>(canceller: { _ in journal.write("friends cancelled") })
        let shown = ReadmeComposition(
            service: .init(
                logIn: { _ in .resolved(7) }, profileOf: { _ in profile }, friendsOf: { _ in friends }),
            screen: .init(draw: journal.write)
        ).showHome(for: "ann")
        shown.cancel()
        #expect(journal.all.sorted() == ["CancellationError()", "friends cancelled", "profile cancelled"])
    }

    private func pages(_ fetch: @escaping @Sendable (String) -> Deferred<String>) -> ReadmePages {
        ReadmePages(
            findPage: { .resolved("/\($0)") }, fetchPage: fetch, addresses: ["/a", "/b"], print: journal.write
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

    @Test("README: the first of a list, and the others cancelled")
    func race() {
        let a = Deferred<String>(canceller: { _ in journal.write("a cancelled") })
        let b = Deferred<String>()
        pages { $0 == "/a" ? a : b }.race()
        b.resolve("bb")
        #expect(journal.all == ["/b was first, with 2 characters", "a cancelled"])
    }

    @Test("README: a finalizer runs after what followed")
    func finalizer() {
        let (opened, answer) = (Deferred<Void>(), Deferred<String>())
        ReadmeFinalizer(
            connection: .init(open: { opened }, ask: { _ in answer }, close: { journal.write("closed") }),
            print: journal.write
        ).run()
        opened.resolve()
        #expect(journal.all == [])
        answer.resolve("well")
        #expect(journal.all == ["well", "closed"])
    }
}
