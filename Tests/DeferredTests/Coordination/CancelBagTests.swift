import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite("CancelBag, never and mapError", .watchdog)
struct CancelBagTests {
    let log = SharedLog<String>()

    @Test("cancels what it contains when it is released, or when it is told to")
    func cancels() throws {
        for isReleased in [true, false] {
            var bag: CancelBag? = CancelBag()
            let sources = (0..<3).map { _ in Deferred<Int>() }
            let stored = sources.map { $0.map { "\($0)" }.store(in: bag!) }
            sources[1].resolve(1)
            #expect(bag?.count == 2)
            if isReleased { bag = nil } else { bag?.cancelAll() }
            #expect(stored.map { Rules.outcome($0) } == ["cancelled", "1", "cancelled"])
            #expect(Rules.outcome(sources[0]) == "cancelled")
            #expect(bag?.count ?? 0 == 0)
        }
    }

    @Test("store(in:) returns the same handle; the bag is no consumer (C3) and retains nothing settled (A2)")
    func holds() throws {
        let (bag, tracker) = (CancelBag(), LeakTracker())
        let source = Deferred<LeakTracker.Tracked>()
        #expect(source.store(in: bag) == source)
        source.map { $0 }.cancel()
        #expect(source.isSettled && bag.count == 0)
        Deferred<LeakTracker.Tracked>.resolved(tracker.begin()).store(in: bag)
        let later = Deferred<LeakTracker.Tracked>()
        later.map { $0 }.store(in: bag)
        later.resolve(tracker.begin())
        #expect(bag.count == 0)
        withExtendedLifetime(later) {}
    }

    @Test("A1: what only its handles could complete is abandoned though it is in a bag")
    func abandoned() throws {
        let bag = CancelBag()
        var source: Deferred<Int>? = Deferred<Int>()
        let link = source!.store(in: bag).map { $0 }
        source = nil
        #expect(Rules.outcome(link) == "abandoned")
        #expect(bag.count == 0)
    }

    @Test("P1: what is settled and paused leaves the bag, and is unpaused with its last handle")
    func paused() {
        let (bag, source) = (CancelBag(), Deferred<Int>())
        do {
            let stored = source.map { $0 }.store(in: bag)
            stored.done { _ in log.add("done") }
            stored.pause()
            source.resolve(1)
            #expect(bag.count == 0 && log.all == [])
        }
        #expect(log.all == ["done"])
    }

    @Test("a position of which no handle is left is cancelled all the same, wherever its chain stands")
    func positionWithoutHandle() throws {
        let (bag, source) = (CancelBag(), Deferred<Int>())
        let inner = Deferred<Int>(canceller: { _ in log.add("cancelled") })
        let last = source.then { _ in inner }.store(in: bag).map { $0 }
        source.resolve(1)
        bag.cancelAll()
        #expect(log.all == ["cancelled"])
        #expect(Rules.outcome(last) == "cancelled")
    }

    @Test("a bag that was emptied may be filled again, also by an errback of what it cancels")
    func filledAgain() throws {
        let bag = CancelBag()
        let later = Deferred<Int>()
        Deferred<Int>.never().fail { _ in later.store(in: bag) }.store(in: bag)
        bag.cancelAll()
        #expect(bag.count == 1)
        try expectNoResult(later)
        bag.cancelAll()
        bag.cancelAll()
        #expect(Rules.outcome(later) == "cancelled")
    }

    @Test("U1: a failure is reported though the Deferred was in a bag")
    func reports() {
        let bag = CancelBag()
        let reported = diagnostics {
            Deferred<Int>.rejected(TestError()).store(in: bag)
            let source = Deferred<Int>()
            source.map { $0 }.store(in: bag)
            source.reject(TestError())
        }
        #expect(reported.count == 2)
    }

    @Test("A1, A2: never is pending until it is cancelled, though nothing refers to it; then all is freed")
    func never() throws {
        let tracker = LeakTracker()
        let object = SpinLocked<LeakTracker.Tracked?>(tracker.begin())
        let waiting: Deferred<Void>
        do {
            let tracked = object.withLock { $0.take() }
            waiting = Deferred<Int>.never().map { _ in tracked?.use() }
        }
        try expectNoResult(waiting)
        waiting.cancel()
        #expect(Rules.outcome(waiting) == "cancelled")
        #expect(tracker.alive == 0)
        let race = DeferredList([Deferred<Int>.never(), .resolved(2)], cancelsRemaining: true).first()
        #expect(try successResult(of: race).value == 2)
    }

    @Test("mapError replaces the error, lets values pass, and sees cancels; also on a dispatcher")
    func mapError() async throws {
        struct Wrapped: Error { let error: any Error }
        let failed = Deferred<Int>.rejected(TestError()).mapError { Wrapped(error: $0) }
        #expect(try failureResult(of: failed, as: Wrapped.self).error is TestError)
        #expect(try successResult(of: Deferred.resolved(1).mapError { Wrapped(error: $0) }) == 1)
        let dispatcher = ManualDispatcher()
        let later = Deferred<Int>.rejected(TestError()).mapError(on: dispatcher) { Wrapped(error: $0) }
        try expectNoResult(later)
        dispatcher.run()
        #expect(try failureResult(of: later) is Wrapped)
        let cancelled = Deferred<Int>.never().mapError { Wrapped(error: $0) }
        cancelled.cancel()
        #expect(try failureResult(of: cancelled, as: Wrapped.self).error is CancellationError)
        let onMain = Deferred<Int>.rejected(TestError()).mapError(on: MainActor.self) { error in
            MainActor.assertIsolated()
            return Wrapped(error: error)
        }
        await #expect(throws: Wrapped.self) { try await onMain.value }
    }
}
