import Deferred
import DeferredTesting
import TestSupport
import Testing

/// Cancellers, and bodies that receive a resolver, isolated to the main actor.
@Suite("Cancellers on the main actor", .watchdog)
@MainActor struct MainActorCancellerTests {
    @MainActor final class Model {
        var runs = 0
    }

    let model = Model()

    /// What a canceller makes of its Deferred.
    enum Answer: CaseIterable { case none, value, error }

    private func source(_ answer: Answer = .none) -> (
        deferred: Deferred<Int>, resolver: Deferred<Int>.Resolver
    ) {
        Deferred<Int>.withResolver(
            on: MainActor.self,
            canceller: { resolver in
                model.runs += 1
                switch answer {
                case .none: break
                case .value: resolver.resolve(7)
                case .error: resolver.reject(Rules.Boom(1))
                }
            })
    }

    private func expected(_ answer: Answer) -> String {
        switch answer {
        case .none: "cancelled"
        case .value: "7"
        case .error: "Boom(1)"
        }
    }

    @Test("C1: a cancel on the main actor runs it before it returns", arguments: Answer.allCases)
    func onMainActor(answer: Answer) {
        let (deferred, resolver) = source(answer)
        let handles = Deferred<Int>(on: MainActor.self, canceller: { _ in model.runs += 1 })
        deferred.cancel()
        #expect(model.runs == 1)
        #expect(Rules.outcome(deferred) == expected(answer))
        #expect(resolver.isCancelled && resolver.isSettled)
        handles.cancel()
        #expect(model.runs == 2)
        #expect(Rules.outcome(handles) == "cancelled")
    }

    @Test("C1: it runs before the cancel returns in a callback on the main queue")
    func onMainQueue() async throws {
        let (deferred, resolver) = source()
        let runs = try await Deferred<Void>.resolved().map(on: .main) {
            deferred.cancel()
            return MainActor.assumeIsolated { model.runs }
        }.value
        #expect(runs == 1)
        #expect(resolver.isSettled)
    }

    @Test(
        "C1: a cancel elsewhere submits it; the Deferred is pending until it has run, and its outcome counts")
    func elsewhere() async {
        for answer in Answer.allCases {
            let (deferred, resolver) = source(answer)
            model.runs = 0
            Rules.onThread { deferred.cancel() }
            #expect(model.runs == 0)
            #expect(Rules.outcome(deferred) == "pending")
            #expect(resolver.isCancelled && !resolver.isSettled)
            await drainMainActor()
            #expect(model.runs == 1)
            #expect(Rules.outcome(deferred) == expected(answer))
        }
    }

    @Test("C1, C5: a result that comes before it counts; it does not run, and is released")
    func completedMeanwhile() async {
        let tracker = LeakTracker()
        let reports = Rules.Log()
        await DeferredDiagnostics.withHandler({ reports("\($0)") }) {
            let captured = tracker.begin()
            let (deferred, resolver) = Deferred<Int>.withResolver(
                on: MainActor.self, canceller: { [model] _ in captured.returning(model.runs += 1) })
            let link = deferred.map { $0 + 1 }
            let other = deferred.recover { _ in 0 }
            Rules.onThread {
                link.cancel()
                other.cancel()
            }
            #expect(Rules.outcome(link) == "cancelled")
            #expect(Rules.outcome(other) == "pending")
            resolver.resolve(1)
            #expect(Rules.outcome(deferred) == "1")
            #expect(Rules.outcome(other) == "0")
            await drainMainActor()
            #expect(model.runs == 0)
            // The first late result is dropped (C2).
            resolver.resolve(2)
        }
        #expect(tracker.alive == 0)
        #expect(reports.all == [])
    }

    @Test("C1: it runs once, however often and wherever the Deferred is cancelled")
    func once() async {
        let (deferred, resolver) = source()
        Rules.onThreads(4) { _ in deferred.cancel() }
        deferred.cancel()
        await drainMainActor()
        deferred.cancel()
        #expect(model.runs == 1)
        #expect(Rules.outcome(deferred) == "cancelled")
        Rules.keep(resolver)
    }

    @Test("C1, C4: what it makes the Deferred follow is cancelled, and answers")
    func follows() async {
        let followed = Deferred<Int>(canceller: { $0.resolve(3) })
        let (deferred, resolver) = Deferred<Int>.withResolver(
            on: MainActor.self, canceller: { $0.follow(followed) })
        Rules.onThread { deferred.cancel() }
        await drainMainActor()
        #expect(Rules.outcome(followed) == "3")
        #expect(Rules.outcome(deferred) == "3")
        Rules.keep(resolver)
    }

    @Test(
        "A1, C1: it runs though the last handle and resolver were released, and its Deferred is not abandoned"
    )
    func released() async {
        let log = Rules.Log()
        do {
            let (deferred, resolver) = source()
            deferred.fail { log(Rules.name(of: $0)) }
            Rules.onThread { deferred.cancel() }
            Rules.keep(resolver)
        }
        #expect(log.all == [])
        await drainMainActor()
        #expect(model.runs == 1)
        #expect(log.all == ["cancelled"])
    }

    @Test("C7: a cancel of several reaches all of them; their ends follow on the main actor")
    func several() async {
        let inputs = (0..<3).map { _ in source() }
        let values = DeferredList(inputs.map(\.deferred)).values()
        Rules.onThread { values.cancel() }
        #expect(Rules.outcome(values) == "cancelled")
        await drainMainActor()
        #expect(model.runs == 3)
        #expect(inputs.map { Rules.outcome($0.deferred) } == ["cancelled", "cancelled", "cancelled"])
    }

    @Test("Z1: a finalizer runs after it, with what it made of the Deferred")
    func finalizer() async {
        let log = Rules.Log()
        let (deferred, resolver) = source(.value)
        deferred.finally { log(Rules.outcome($0)) }
        Rules.onThread { deferred.cancel() }
        #expect(log.all == [])
        await drainMainActor()
        #expect(log.all == ["7"])
        Rules.keep(resolver)
    }

    @Test("a body on the main actor receives the resolver, not before the call returns")
    func body() async {
        let number = Deferred<Int>(on: MainActor.self) { resolver in
            model.runs += 1
            resolver.resolve(model.runs)
        }
        let failed = Deferred<Int>(on: MainActor.self) { _ in throw Rules.Boom(1) }
        let abandoned = Deferred<Int>(on: MainActor.self) { _ in }
        #expect(model.runs == 0)
        await drainMainActor()
        #expect(Rules.outcome(number) == "1")
        #expect(Rules.outcome(failed) == "Boom(1)")
        #expect(Rules.outcome(abandoned) == "abandoned")
    }

    @Test(
        "C5: such a body does not run if the Deferred is cancelled first; later a cancel fails the Deferred")
    func cancelledBody() async {
        let early = Deferred<Int>(on: MainActor.self) { _ in model.runs += 1 }
        early.cancel()
        await drainMainActor()
        #expect(model.runs == 0)
        #expect(Rules.outcome(early) == "cancelled")
        let kept = Rules.Box<Deferred<Int>.Resolver?>(nil)
        let late = Deferred<Int>(on: MainActor.self) { kept.value = $0 }
        await drainMainActor()
        late.cancel()
        #expect(Rules.outcome(late) == "cancelled")
        #expect(kept.value?.isCancelled == true)
    }
}
