import Deferred
import DeferredTesting
import TestSupport
import Testing

/// Runs the README's examples.
@Suite(.watchdog) struct ReadmeTests: Article {
    let eventLog = SharedLog<String>()

    @Test("README: the first line")
    func firstLine() async throws {
        let (page, eventLog) = ("index", eventLog)
        @Sendable func load(_ page: String) -> Deferred<String> {
            eventLog.add("load \(page)")
            return eventLog.all.count == 1 ? .rejected(Refused()) : .resolved("a page")
        }
        @Sendable func show(_ text: String) { eventLog.add(text) }
        let shown = Deferred.retry(attempts: 3) { load(page).timeout(.seconds(5)) }.done(on: .main) {
            show($0)
        }
        try await shown.value
        #expect(eventLog.all == ["load index", "load index", "a page"])
    }

    @Test("README: the most basic example")
    func basic() {
        let greeting = Deferred<String>()

        greeting
            .done { print("Hello, \($0)!") }
            .fail { print("Nobody to greet: \($0)") }

        greeting.resolve("world")
        #expect(eventLog.all == ["Hello, world!"])
    }

    @Test("README: wrap a callback API that answers, fails, or forgets its handler")
    func wrapped() throws {
        struct Store {
            func read(_ key: String, _ completion: @escaping @Sendable (String?, (any Error)?) -> Void) {
                if key == "name" { completion("ann", nil) }
                if key == "age" { completion(nil, Refused()) }
            }
        }
        let store = Store()
        func read(_ key: String) -> Deferred<String> {
            Deferred { resolver in
                store.read(key) { value, error in resolver.complete(value, error) }
            }
        }
        #expect(try successResult(of: read("name")) == "ann")
        #expect(try failureResult(of: read("age")) is Refused)
        #expect(try failureResult(of: read("other")) as? DeferredError == .abandoned)
    }

    @Test("README: test without waiting")
    func limited() throws {
        func fetchPage() -> Deferred<String> { .never() }
        let clock = ManualClock()
        let answer = fetchPage().timeout(.seconds(5), timer: clock)
        clock.advance(by: .seconds(5))
        #expect(try failureResult(of: answer) as? DeferredError == .timedOut)
    }

    private struct Service: Sendable {
        let session: Deferred<Int>
        let profile: Deferred<String>
        let friends: Deferred<[String]>

        func logIn(_ name: String) -> Deferred<Int> { session }
        func profile(in session: Int) -> Deferred<String> { profile }
        func friends(in session: Int) -> Deferred<[String]> { friends }
    }

    private struct Screen: Sendable {
        let draw: @Sendable (String) -> Void

        func show(_ profile: String, _ friends: [String]) { draw("\(profile) with \(friends)") }
        func show(_ error: any Error) { draw("\(error)") }
    }

    private struct Home: Sendable {
        let service: Service
        let screen: Screen

        func showHome(for name: String) -> Deferred<Void> {
            service.logIn(name)
                .then { session in
                    gather(service.profile(in: session), service.friends(in: session))
                }
                .done { profile, friends in
                    screen.show(profile, friends)
                }
                .fail { error in
                    screen.show(error)
                }
        }
    }

    @Test("README: log in, then two requests at once, failures handled once")
    func composition() {
        let (profile, friends) = (Deferred<String>(), Deferred<[String]>())
        func home(_ session: Deferred<Int>) -> Home {
            Home(
                service: Service(session: session, profile: profile, friends: friends),
                screen: Screen(draw: eventLog.add))
        }
        let shown = home(.resolved(7)).showHome(for: "ann")
        friends.resolve(["bob"])
        #expect(shown.currentResult == nil)
        profile.resolve("Ann")
        home(.rejected(Refused())).showHome(for: "ann").done { eventLog.add("handled") }
        #expect(eventLog.all == ["Ann with [\"bob\"]", "refused", "handled"])
    }

    @Test("README: cancelling the composition cancels the requests in progress")
    func compositionCancelled() {
        let profile = Deferred<String>(canceller: { _ in eventLog.add("profile cancelled") })
        let friends = Deferred<[String]>(canceller: { _ in eventLog.add("friends cancelled") })
        Home(
            service: Service(session: .resolved(7), profile: profile, friends: friends),
            screen: Screen(draw: eventLog.add)
        ).showHome(for: "ann").cancel()
        #expect(eventLog.all.sorted() == ["CancellationError()", "friends cancelled", "profile cancelled"])
    }

    @Test("README: await")
    func awaited() async throws {
        func fetchPage(at address: String) -> Deferred<String> { .resolved("page \(address)") }
        let page = try await fetchPage(at: "/index").value
        let shout = Deferred { try await page.shouted() }
        #expect(try await shout.value == "PAGE /INDEX")
    }
}
