import Deferred
import TestSupport
import Testing

/// Threads that cancel Deferreds while others complete, cancel and attach to them.
@Suite("Torture: cancelling", .serialized, .ownThreads)
struct CancellingRaces {
    @Test(
        "C1, C2: a result and a cancel at once: one of them counts, the canceller runs at most once, nothing is reported"
    )
    func fireAndCancel() {
        struct State: Sendable {
            let resolver: Resolver<Int>
            let deferred: Deferred<Int>
            let cancels = AtomicCounter()
            let fired = AtomicCounter()
            let received = SharedLog<ModelOutcome>()
        }
        let tracker = LeakTracker()
        let reports = AtomicCounter()
        let cancel: @Sendable (State) -> Void = { $0.deferred.cancel() }
        Race { () -> State in
            let cancels = Slot<AtomicCounter>(nil)
            let tracked = tracker.begin()
            let (deferred, resolver) = Deferred<Int>.withResolver { _ in
                tracked.use()
                cancels.now?.add()
            }
            let state = State(resolver: resolver, deferred: deferred)
            cancels.put(state.cancels)
            let received = state.received
            deferred.both { result in
                tracked.use()
                received.add(ModelOutcome(result))
            }
            return state
        }.racing(
            { state in
                DeferredDiagnostics.withHandler({ _ in reports.add() }) {
                    if state.resolver.resolve(1) { state.fired.add() }
                }
            }, cancel, cancel
        ).check { state in
            let isFired = state.fired.value == 1
            #expect(state.received.all == [isFired ? .value(.number(1)) : .failure(.cancelled)])
            #expect(state.cancels.value <= 1)
            #expect(isFired || state.cancels.value == 1)
            #expect(isFired || state.resolver.isCancelled)
        }
        #expect(reports.value == 0)
        #expect(tracker.alive == 0)
    }

    @Test(
        "C3: of consumers that all cancel at once the last one cancels the source, and each is notified once")
    func allConsumersCancel() {
        struct State: Sendable {
            let source: Deferred<Int>
            let positions: [Deferred<Int>]
            let cancels: AtomicCounter
            let received: SharedLog<Int>
        }
        let tracker = LeakTracker()
        Race { () -> State in
            let cancels = AtomicCounter()
            let received = SharedLog<Int>()
            let tracked = tracker.begin()
            let source = Deferred<Int>(canceller: { _ in
                tracked.use()
                cancels.add()
            })
            let positions = (0..<3).map { index in
                source.map { $0 }.mapResult { result -> Int in
                    tracked.use()
                    #expect(throws: CancellationError.self) { try result.get() }
                    received.add(index)
                    return 0
                }
            }
            return State(source: source, positions: positions, cancels: cancels, received: received)
        }.racing({ $0.positions[0].cancel() }, { $0.positions[1].cancel() }, { $0.positions[2].cancel() })
            .check {
                state in
                #expect(state.cancels.value == 1)
                #expect(state.received.all.sorted() == [0, 1, 2])
                #expect(state.positions.allSatisfy { $0.currentResult != nil })
                _ = state.source
            }
        #expect(tracker.alive == 0)
    }

    @Test("C3: a consumer that stays keeps the source from being cancelled, however others come and go")
    func oneStays() {
        struct State: Sendable {
            let source: Deferred<Int>
            let cancels: AtomicCounter
            let received = SharedLog<ModelOutcome>()
            let others = AtomicCounter()
        }
        let tracker = LeakTracker()
        let comeAndGo: @Sendable (State) -> Void = { state in
            let tracked = tracker.begin()
            for _ in 0..<40 {
                let others = state.others
                let position = state.source.both { _ in
                    tracked.use()
                    others.add()
                }
                position.cancel()
            }
        }
        Race { () -> State in
            let cancels = AtomicCounter()
            let source = Deferred<Int>(canceller: { _ in cancels.add() })
            let state = State(source: source, cancels: cancels)
            let received = state.received
            source.both { received.add(ModelOutcome($0)) }
            return state
        }.racing(comeAndGo, comeAndGo, comeAndGo).check { state in
            #expect(state.cancels.value == 0)
            #expect(state.others.value == 120)
            #expect(state.received.all.isEmpty)
            #expect(state.source.resolve(1))
            #expect(state.received.all == [.value(.number(1))])
        }
        #expect(tracker.alive == 0)
    }

    @Test("C5: a cancel while callbacks give nested Deferreds is never lost, wherever the chain then stands")
    func neverLost() {
        struct State: Sendable {
            let source: Deferred<Int>
            let end: Deferred<Int>
            let received: SharedLog<ModelOutcome>
        }
        let tracker = LeakTracker()
        Race { () -> State in
            let tracked = tracker.begin()
            let received = SharedLog<ModelOutcome>()
            let source = Deferred<Int>(canceller: { _ in tracked.use() })
            let end =
                source
                .then { value in Deferred<Int>.resolved(value).then { _ in Deferred.resolved(value) } }
                // Only a cancel ends this one. The handle is retained, so that it cannot be abandoned.
                .then { _ in
                    let inner = Deferred<Int>(canceller: { _ in tracked.use() })
                    return inner.mapResult { result -> Int in
                        _ = inner
                        return try result.get()
                    }
                }
                .map { $0 }
                .mapResult { result -> Int in
                    received.add(ModelOutcome(result))
                    return 0
                }
            return State(source: source, end: end, received: received)
        }.racing(
            { $0.source.resolve(1) }, { $0.end.cancel() }, { $0.end.cancel() }
        ).check { state in
            #expect(state.received.all == [.failure(.cancelled)])
        }
        #expect(tracker.alive == 0)
    }

    @Test("C3: a shield that is cancelled fails at once, and keeps its source from the last other's cancel")
    func shield() {
        struct State: Sendable {
            let source: Deferred<Int>
            let shield: Deferred<Int>
            let other: Deferred<Int>
            let cancels: AtomicCounter
        }
        let tracker = LeakTracker()
        Race { () -> State in
            let cancels = AtomicCounter()
            let tracked = tracker.begin()
            let source = Deferred<Int>(canceller: { _ in
                tracked.use()
                cancels.add()
            })
            return State(
                source: source, shield: source.shielded().map { $0 }, other: source.map { $0 },
                cancels: cancels)
        }.racing(
            { $0.shield.cancel() }, { $0.other.cancel() }, { $0.shield.cancel() }
        ).check { state in
            #expect(state.cancels.value == 0)
            #expect(ModelOutcome(state.shield.currentResult) == .failure(.cancelled))
            #expect(ModelOutcome(state.other.currentResult) == .failure(.cancelled))
            #expect(state.source.currentResult == nil)
            state.source.resolve(1)
        }
        #expect(tracker.alive == 0)
    }
}

extension ModelOutcome {
    init(_ result: Result<Int, any Error>) { self.init(result) { .number($0) } }

    init?(_ result: Result<Int, any Error>?) {
        guard let result else { return nil }
        self.init(result)
    }
}
