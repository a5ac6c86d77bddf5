import Testing

@testable import DeferredOperations

/// The streams of a manager's network use.
@Suite(.timeLimit(.minutes(5)))
struct NetworkUseTests {
    private let use = NetworkUse()

    @Test("A stream of the network use that is dropped before it has begun is not kept")
    func dropped() {
        use.queue.suspend()
        _ = use.stream()
        use.queue.resume()
        use.queue.sync {}
        #expect(use.queue.sync { use.listeners.isEmpty })
    }

    @Test("A stream of the network use is kept until it is dropped, and misses no change")
    func kept() async {
        var uses: AsyncStream<Bool>.Iterator?
        do {
            use.queue.suspend()
            uses = use.stream().makeAsyncIterator()
            use.note(true)
            use.note(false)
            use.queue.resume()
        }
        use.queue.sync {}
        #expect(use.queue.sync { use.listeners.count } == 1)
        for isInUse in [false, true, false] { #expect(await uses?.next() == isInUse) }
        uses = nil
        #expect(use.queue.sync { use.listeners.isEmpty })
    }
}
