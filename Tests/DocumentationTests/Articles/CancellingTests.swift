import Deferred
import DeferredTesting
import Multicast
import TestSupport
import Testing

@Suite struct CancellingTests {
    let eventLog = SharedLog<String>()

    private struct Connection: Sendable {
        let eventLog: SharedLog<String>
        func close() { eventLog.add("closed") }
    }

    @Test("Cancelling: a source runs its canceller")
    func source() throws {
        let connection = Connection(eventLog: eventLog)
        let page = Deferred<String>(canceller: { _ in connection.close() })
        page.cancel()
        #expect(eventLog.all == ["closed"])
        #expect(try failureResult(of: page) is CancellationError)
    }

    @Test("Cancelling: the last consumer's cancel reaches the source")
    func consumers() throws {
        let connection = Connection(eventLog: eventLog)
        let page = Deferred<String>(canceller: { _ in connection.close() })
        let title = page.map { String($0.prefix(10)) }
        let length = page.map { $0.count }

        title.cancel()  // only title fails; length still consumes the page
        #expect(eventLog.all == [])
        #expect(try failureResult(of: title) is CancellationError)
        try expectNoResult(length)
        length.cancel()  // the last consumer: the connection is closed
        #expect(eventLog.all == ["closed"])
    }

    @Test("Cancelling: an errback may rethrow a cancellation")
    func errback() throws {
        let page = Deferred<String>()
        let shown = page.recover { error in
            if error is CancellationError { throw error }
            return "no page"
        }
        page.cancel()
        #expect(try failureResult(of: shown) is CancellationError)
        let failed = Deferred<String>.rejected(Refused()).recover { error in
            if error is CancellationError { throw error }
            return "no page"
        }
        #expect(try successResult(of: failed) == "no page")
    }

    @Test("Cancelling: enough, from inside a chain")
    func enough() throws {
        let pages = ["/a", "/b", "/c"].map { _ in Deferred<String>() }
        let addresses = Array(pages.indices)
        @Sendable func fetchPage(_ address: Int) -> Deferred<String> { pages[address] }
        let checks = addresses.map { address in fetchPage(address).map { $0.contains("needle") } }
        let list = DeferredList(checks)
        for check in checks {
            check.done { isFound in if isFound { list.cancel() } }  // the check itself is settled
        }
        let found = list.results()
        pages[0].resolve("hay")
        pages[1].resolve("a needle")
        let results = try successResult(of: found)
        #expect(try results[0].get() == false)
        #expect(try results[1].get() == true)
        #expect(throws: CancellationError.self) { try results[2].get() }
        #expect(try failureResult(of: pages[2]) is CancellationError)
    }

    @Test("Cancelling: a callback that cancels its own chain loses the result below it")
    func enoughTooEarly() throws {
        let page = Deferred<String>()
        let end = SynchronizedValue<Deferred<Int>?>(nil)
        let check = page.map { text in
            end.read { $0 }?.cancel()
            return text.count
        }
        let last = check.map { $0 + 1 }
        end.write { $0 = last }
        page.resolve("text")
        #expect(try failureResult(of: last) is CancellationError)
    }

    @Test("Cancelling: enough, by a list that cancels the remaining")
    func enoughFirst() throws {
        let pages = (0..<3).map { _ in Deferred<String>() }
        let addresses = Array(pages.indices)
        @Sendable func fetchPage(_ address: Int) -> Deferred<String> { pages[address] }
        let checks = addresses.map { address in
            fetchPage(address).map { page in
                guard page.contains("needle") else { throw NotFound() }
                return address
            }
        }
        let found = DeferredList(checks, cancelsRemaining: true).first()
        pages[0].resolve("hay")
        pages[1].resolve("a needle")
        #expect(try successResult(of: found).value == 1)
        #expect(try failureResult(of: pages[2]) is CancellationError)
    }

    @Test("Cancelling: shielded() keeps a cancellation from upstream")
    func shield() throws {
        struct Store: Sendable {
            let saving: Deferred<Void>
            func save(_ document: String) -> Deferred<Void> { saving }
        }
        let document = "text"
        let store = Store(saving: Deferred(canceller: { _ in eventLog.add("cancelled") }))
        let save = store.save(document)
        let visible = save.shielded()
        visible.cancel()  // visible fails, the saving continues
        #expect(eventLog.all == [])
        #expect(try failureResult(of: visible) is CancellationError)
        try expectNoResult(save)
    }

    @Test("Cancelling: time limits, of the whole and of each attempt")
    func limits() throws {
        let clock = ManualClock()
        let eventLog = eventLog
        let underWay = SynchronizedValue<[Resolver<String>]>([])
        @Sendable func fetchPage() -> Deferred<String> {
            eventLog.add("fetch")
            let (page, resolver) = Deferred<String>.withResolver(
                canceller: { _ in eventLog.add("cancelled") })
            underWay.write { $0.append(resolver) }
            return page
        }
        do {
            let page = fetchPage().timeout(.seconds(5), on: clock) { "cached page" }
            clock.advance(by: .seconds(5))
            #expect(try successResult(of: page) == "cached page")
            #expect(eventLog.all == ["fetch", "cancelled"])
        }
        let page = Deferred.retry(attempts: 3, on: clock) {
            fetchPage().timeout(.seconds(5), on: clock)
        }
        clock.advance(by: .seconds(60))
        #expect(eventLog.all.count == 8)
        #expect(try failureResult(of: page) as? DeferredError == .timedOut)
    }

    @Test("Cancelling: a time limit behind a busy dispatcher waits for it, unless that is shielded")
    func busyDispatcher() throws {
        let (page, queue, clock) = (Deferred.resolved("text"), ManualDispatcher(), ManualClock())
        let waiting = page.map(on: queue) { $0.count }.timeout(.seconds(5), on: clock)
        let length = page.map(on: queue) { $0.count }.shielded().timeout(.seconds(5), on: clock)
        clock.advance(by: .seconds(5))
        #expect(try failureResult(of: length) as? DeferredError == .timedOut)
        try expectNoResult(waiting)
        queue.run()
        #expect(try failureResult(of: waiting) as? DeferredError == .timedOut)
    }

    @Test("Cancelling: what stands above a timeout may make another outcome of it")
    func errbackAboveTimeout() throws {
        let (clock, pages) = (ManualClock(), SynchronizedValue<[Deferred<String>]>([]))
        func fetchPage() -> Deferred<String> {
            let page = Deferred<String>()
            pages.write { $0.append(page) }
            return page
        }
        let page = fetchPage()
            .recover { _ in "no page" }  // also handles the cancellation
            .timeout(.seconds(5), on: clock)  // so the outcome is "no page", not .timedOut
        let cleared = fetchPage().always { _ in throw Refused() }.timeout(.seconds(5), on: clock)
        let below = fetchPage().timeout(.seconds(5), on: clock).recover { "\($0)" }
        let strict = fetchPage()
            .recover { _ in "no page" }
            .timeout(.seconds(5), on: clock) { _ in throw DeferredError.timedOut }
        clock.advance(by: .seconds(5))
        #expect(try successResult(of: page) == "no page")
        #expect(try failureResult(of: cleared) is Refused)
        #expect(try successResult(of: below) == "\(DeferredError.timedOut)")
        #expect(try failureResult(of: strict) as? DeferredError == .timedOut)
    }

    final class Page: Sendable {
        let loading: Deferred<Void>

        init(_ request: Deferred<String>, show: @escaping @Sendable (String) -> Void) {
            loading = request.done { show($0) }
        }

        deinit { loading.cancel() }
    }

    @Test("Cancelling: a view that is closed cancels its own request only")
    func view() throws {
        let request = Deferred<String>(canceller: { _ in eventLog.add("cancelled") })
        do {
            let page = Page(request, show: eventLog.add)
            withExtendedLifetime(page) {}
        }
        #expect(eventLog.all == ["cancelled"])
        let shared = Deferred<String>(canceller: { _ in eventLog.add("cancelled too") })
        let other = shared.map { $0.count }
        do {
            let page = Page(shared, show: eventLog.add)
            withExtendedLifetime(page) {}
        }
        shared.resolve("text")
        #expect(eventLog.all == ["cancelled"])
        #expect(try successResult(of: other) == 4)
    }

    final class Screen: Sendable {
        private let bag = CancelBag()

        init(_ requests: [Deferred<String>], show: @escaping @Sendable (String) -> Void) {
            for request in requests { request.done { show($0) }.store(in: bag) }
        }
    }

    @Test("Cancelling: a screen that is closed cancels what is pending of its requests")
    func screen() throws {
        let requests = [Deferred<String>(), Deferred<String>()]
        do {
            let screen = Screen(requests, show: eventLog.add)
            requests[0].resolve("text")
            withExtendedLifetime(screen) {}
        }
        #expect(eventLog.all == ["text"])
        #expect(try failureResult(of: requests[1]) is CancellationError)
    }

    private final class Label: Sendable {
        let eventLog: SharedLog<String>
        init(_ eventLog: SharedLog<String>) { self.eventLog = eventLog }

        func show(_ text: String) { eventLog.add(text) }
        func load(_ request: Deferred<String>) {
            request.done { [weak self] text in self?.show(text) }
        }
    }

    @Test("Cancelling: a callback that captures self weakly")
    func weakly() {
        let (first, second) = (Deferred<String>(), Deferred<String>())
        var label: Label? = Label(eventLog)
        label?.load(first)
        label?.load(second)
        first.resolve("one")
        label = nil
        second.resolve("two")
        #expect(eventLog.all == ["one"])
    }
}
