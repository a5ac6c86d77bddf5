import Deferred
import TestThreads
import Testing

/// Threads that cancel what others fire, cancel and attach to.
@Suite("Torture: cancelling", .serialized, .ownThreads)
struct CancellingRaces {
    @Test(
        "C1, C2: a result and a cancel at once: one of them counts, the canceller runs at most once, nothing is reported"
    )
    func fireAndCancel() {
        struct State: Sendable {
            let resolver: Resolver<Int>
            let deferred: Deferred<Int>
            let cancels = Counter()
            let fired = Counter()
            let told = Chronicle<Outcome>()
        }
        let census = Census()
        let reports = Counter()
        let cancel: @Sendable (State) -> Void = { $0.deferred.cancel() }
        Race { () -> State in
            let cancels = Slot<Counter>(nil)
            let member = census.member()
            let (deferred, resolver) = Deferred<Int>.withResolver { _ in
                member.touch()
                cancels.now?.add()
            }
            let state = State(resolver: resolver, deferred: deferred)
            cancels.put(state.cancels)
            let told = state.told
            deferred.both { result in
                member.touch()
                told.add(Outcome(result))
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
            #expect(state.told.all == [isFired ? .value(.number(1)) : .failure(.cancelled)])
            #expect(state.cancels.value <= 1)
            #expect(isFired || state.cancels.value == 1)
            #expect(isFired || state.resolver.isCancelled)
        }
        #expect(reports.value == 0)
        #expect(census.alive == 0)
    }

    @Test(
        "C3: of consumers that all cancel at once the last one out cancels the source, and each is told once")
    func allConsumersCancel() {
        struct State: Sendable {
            let source: Deferred<Int>
            let positions: [Deferred<Int>]
            let cancels: Counter
            let told: Chronicle<Int>
        }
        let census = Census()
        Race { () -> State in
            let cancels = Counter()
            let told = Chronicle<Int>()
            let member = census.member()
            let source = Deferred<Int>(canceller: { _ in
                member.touch()
                cancels.add()
            })
            let positions = (0..<3).map { index in
                source.then { $0 }.both { result -> Int in
                    member.touch()
                    #expect(throws: CancellationError.self) { try result.get() }
                    told.add(index)
                    return 0
                }
            }
            return State(source: source, positions: positions, cancels: cancels, told: told)
        }.racing({ $0.positions[0].cancel() }, { $0.positions[1].cancel() }, { $0.positions[2].cancel() })
            .check {
                state in
                #expect(state.cancels.value == 1)
                #expect(state.told.all.sorted() == [0, 1, 2])
                #expect(state.positions.allSatisfy { $0.currentResult != nil })
                _ = state.source
            }
        #expect(census.alive == 0)
    }

    @Test("C3: a consumer that stays keeps the source from being cancelled, however others come and go")
    func oneStays() {
        struct State: Sendable {
            let source: Deferred<Int>
            let cancels: Counter
            let told = Chronicle<Outcome>()
            let others = Counter()
        }
        let census = Census()
        let comeAndGo: @Sendable (State) -> Void = { state in
            let member = census.member()
            for _ in 0..<40 {
                let others = state.others
                let position = state.source.both { _ in
                    member.touch()
                    others.add()
                }
                position.cancel()
            }
        }
        Race { () -> State in
            let cancels = Counter()
            let source = Deferred<Int>(canceller: { _ in cancels.add() })
            let state = State(source: source, cancels: cancels)
            let told = state.told
            source.both { told.add(Outcome($0)) }
            return state
        }.racing(comeAndGo, comeAndGo, comeAndGo).check { state in
            #expect(state.cancels.value == 0)
            #expect(state.others.value == 120)
            #expect(state.told.all.isEmpty)
            #expect(state.source.resolve(1))
            #expect(state.told.all == [.value(.number(1))])
        }
        #expect(census.alive == 0)
    }

    @Test("C5: a cancel while callbacks give nested Deferreds is never lost, wherever the chain then stands")
    func neverLost() {
        struct State: Sendable {
            let source: Deferred<Int>
            let end: Deferred<Int>
            let told: Chronicle<Outcome>
        }
        let census = Census()
        Race { () -> State in
            let member = census.member()
            let told = Chronicle<Outcome>()
            let source = Deferred<Int>(canceller: { _ in member.touch() })
            let end =
                source
                .then { value in Deferred<Int>.resolved(value).then { _ in Deferred.resolved(value) } }
                // Nothing but a cancel ends this one. The handle is kept, so that it cannot be abandoned.
                .then { _ in
                    let inner = Deferred<Int>(canceller: { _ in member.touch() })
                    return inner.both { result -> Int in
                        _ = inner
                        return try result.get()
                    }
                }
                .then { $0 }
                .both { result -> Int in
                    told.add(Outcome(result))
                    return 0
                }
            return State(source: source, end: end, told: told)
        }.racing(
            { $0.source.resolve(1) }, { $0.end.cancel() }, { $0.end.cancel() }
        ).check { state in
            #expect(state.told.all == [.failure(.cancelled)])
        }
        #expect(census.alive == 0)
    }

    @Test("C3: a shield that is cancelled fails at once, and keeps its source from the last other's cancel")
    func shield() {
        struct State: Sendable {
            let source: Deferred<Int>
            let shield: Deferred<Int>
            let other: Deferred<Int>
            let cancels: Counter
        }
        let census = Census()
        Race { () -> State in
            let cancels = Counter()
            let member = census.member()
            let source = Deferred<Int>(canceller: { _ in
                member.touch()
                cancels.add()
            })
            return State(
                source: source, shield: source.shielded().then { $0 }, other: source.then { $0 },
                cancels: cancels)
        }.racing(
            { $0.shield.cancel() }, { $0.other.cancel() }, { $0.shield.cancel() }
        ).check { state in
            #expect(state.cancels.value == 0)
            #expect(Outcome(state.shield.currentResult) == .failure(.cancelled))
            #expect(Outcome(state.other.currentResult) == .failure(.cancelled))
            #expect(state.source.currentResult == nil)
            state.source.resolve(1)
        }
        #expect(census.alive == 0)
    }
}

extension Outcome {
    init(_ result: Result<Int, any Error>) { self.init(result) { .number($0) } }

    init?(_ result: Result<Int, any Error>?) {
        guard let result else { return nil }
        self.init(result)
    }
}
