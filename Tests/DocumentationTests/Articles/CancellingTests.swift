import Deferred
import DeferredTesting
import Multicast
import Testing

@Suite struct CancellingTests {
    let journal = Journal()

    private struct Connection: Sendable {
        let journal: Journal
        func close() { journal.write("closed") }
    }

    @Test("Cancelling: a source runs its canceller")
    func source() throws {
        let connection = Connection(journal: journal)
        let page = Deferred<String>(canceller: { _ in connection.close() })
        page.cancel()
        #expect(journal.all == ["closed"])
        #expect(try failureResult(of: page) is CancellationError)
    }

    @Test("Cancelling: the last consumer's cancel reaches the source")
    func consumers() throws {
        let connection = Connection(journal: journal)
        let page = Deferred<String>(canceller: { _ in connection.close() })
        let title = page.then { String($0.prefix(10)) }
        let length = page.then { $0.count }

        title.cancel()  // title alone fails; length still wants the page
        #expect(journal.all == [])
        #expect(try failureResult(of: title) is CancellationError)
        try expectNoResult(length)
        length.cancel()  // nobody is left, and the connection is closed
        #expect(journal.all == ["closed"])
    }

    /// The two cancels as they stand in the article, with nothing between them.
    @Test("Cancelling: one after the other")
    func bothCancels() {
        let connection = Connection(journal: journal)
        let page = Deferred<String>(canceller: { _ in connection.close() })
        let title = page.then { String($0.prefix(10)) }
        let length = page.then { $0.count }

        title.cancel()  // title alone fails; length still wants the page
        length.cancel()  // nobody is left, and the connection is closed
        #expect(journal.all == ["closed"])
    }

    @Test("Cancelling: an errback may let a cancel pass")
    func errback() throws {
        let page = Deferred<String>()
        let shown = page.fail { error in
            if error is CancellationError { throw error }
            return "no page"
        }
        page.cancel()
        #expect(try failureResult(of: shown) is CancellationError)
        let failed = Deferred<String>.rejected(Refused()).fail { error in
            if error is CancellationError { throw error }
            return "no page"
        }
        #expect(try successResult(of: failed) == "no page")
    }

    @Test("Cancelling: a shield keeps it out")
    func shield() throws {
        struct Store: Sendable {
            let saving: Deferred<Void>
            func save(_ document: String) -> Deferred<Void> { saving }
        }
        let document = "text"
        let store = Store(saving: Deferred(canceller: { _ in journal.write("cancelled") }))
        let save = store.save(document)
        let visible = save.shielded()
        visible.cancel()  // visible fails, the saving goes on
        #expect(journal.all == [])
        #expect(try failureResult(of: visible) is CancellationError)
        try expectNoResult(save)
    }

    @Test("Cancelling: time limits, of the whole and of each attempt")
    func limits() throws {
        let clock = ManualClock()
        let journal = journal
        let underWay = SynchronizedValue<[Resolver<String>]>([])
        @Sendable func fetchPage() -> Deferred<String> {
            journal.write("fetch")
            let (page, resolver) = Deferred<String>.withResolver(
                canceller: { _ in journal.write("cancelled") })
            underWay.write { $0.append(resolver) }
            return page
        }
        do {
            let page = fetchPage().timeout(.seconds(5), on: clock) { "cached page" }
            clock.advance(by: .seconds(5))
            #expect(try successResult(of: page) == "cached page")
            #expect(journal.all == ["fetch", "cancelled"])
        }
        let page = Deferred.retry(attempts: 3, on: clock) {
            fetchPage().timeout(.seconds(5), on: clock)
        }
        clock.advance(by: .seconds(60))
        #expect(journal.all.count == 8)
        #expect(try failureResult(of: page, as: RetryError.self).errors.count == 3)
    }

    final class Page: Sendable {
        let loading: Deferred<Void>

        init(_ request: Deferred<String>, show: @escaping @Sendable (String) -> Void) {
            loading = request.then { show($0) }
        }

        deinit { loading.cancel() }
    }

    @Test("Cancelling: a view that goes away ends its request, and nobody else's")
    func view() throws {
        let request = Deferred<String>(canceller: { _ in journal.write("cancelled") })
        do {
            let page = Page(request, show: journal.write)
            withExtendedLifetime(page) {}
        }
        #expect(journal.all == ["cancelled"])
        let shared = Deferred<String>(canceller: { _ in journal.write("cancelled too") })
        let other = shared.then { $0.count }
        do {
            let page = Page(shared, show: journal.write)
            withExtendedLifetime(page) {}
        }
        shared.resolve("text")
        #expect(journal.all == ["cancelled"])
        #expect(try successResult(of: other) == 4)
    }

    private final class Label: Sendable {
        let journal: Journal
        init(_ journal: Journal) { self.journal = journal }

        func show(_ text: String) { journal.write(text) }
        func load(_ request: Deferred<String>) {
            request.then { [weak self] text -> Void in self?.show(text) }
        }
    }

    @Test("Cancelling: a callback that holds itself weakly")
    func weakly() {
        let (first, second) = (Deferred<String>(), Deferred<String>())
        var label: Label? = Label(journal)
        label?.load(first)
        label?.load(second)
        first.resolve("one")
        label = nil
        second.resolve("two")
        #expect(journal.all == ["one"])
    }
}
