import Deferred
import DeferredTesting
import Dispatch
import Synchronization
import TestSupport
import Testing

@Suite("wait", .watchdog)
struct WaitTests {
    @Test("waits for what another thread or queue completes, and not for what is settled")
    func otherThread() throws {
        let deferred = Deferred<Int>()
        DispatchQueue.global().async { deferred.resolve(2) }
        #expect(try deferred.wait() == 2)
        let failing = Deferred<Int>()
        DispatchQueue.global().async { failing.reject(TestError()) }
        #expect(throws: TestError.self) { try failing.wait(timeout: .seconds(60)) }
        #expect(throws: TestError.self) { try failing.wait(timeout: .zero) }
        #expect(try deferred.map(on: DispatchQueue(label: "other")) { $0 + 1 }.wait() == 3)
    }

    @Test("throws timedOut when time is up, cancels nothing, and may be asked again")
    func timesOut() throws {
        let deferred = Deferred<Int>(canceller: { _ in Issue.record("cancelled") })
        #expect(throws: DeferredError.timedOut) { try deferred.wait(timeout: .zero) }
        #expect(throws: DeferredError.timedOut) { try deferred.wait(timeout: .milliseconds(1)) }
        try expectNoResult(deferred)
        deferred.resolve(3)
        #expect(try deferred.wait() == 3)
    }

    @Test("C3: a wait that has timed out is a consumer no more")
    func withdraws() throws {
        let source = Deferred<Int>()
        let chain = source.map { $0 }
        #expect(throws: DeferredError.timedOut) { try source.wait(timeout: .zero) }
        chain.cancel()
        #expect(try failureResult(of: source) is CancellationError)
    }

    @Test("U1: a failure that a wait has thrown is handled; one that came after it timed out is not")
    func handlesFailure() throws {
        try expectNoUnhandledFailures {
            let failed = Deferred<Int>.rejected(TestError())
            #expect(throws: TestError.self) { try failed.wait() }
        }
        let seen = diagnostics {
            let deferred = Deferred<Int>()
            #expect(throws: DeferredError.timedOut) { try deferred.wait(timeout: .zero) }
            deferred.reject(TestError())
        }
        #expect(seen.count == 1)
    }

    @Test(
        "U1: an outcome that comes just as the time is up is thrown, or left to others: it is not lost",
        .ownThreads)
    func justInTime() {
        let unhandled = SharedLog<Int>()
        let thrown = SharedLog<Int>()
        let rounds = 5 * Extent.rounds
        let requests = DispatchQueue(label: "rejects")
        for round in 0..<rounds {
            let isWaiting = Gate()
            DeferredDiagnostics.withHandler({ _ in unhandled.add(round) }) {
                let (deferred, resolver) = Deferred<Int>.withResolver()
                requests.async {
                    isWaiting.pass()
                    DeferredDiagnostics.withHandler({ _ in unhandled.add(round) }) {
                        _ = resolver.reject(TestError())
                    }
                }
                isWaiting.open()
                do { try deferred.wait(timeout: .nanoseconds(round % 64 * 200 + 1)) } catch {
                    if error is TestError { thrown.add(round) }
                }
                requests.sync {}
            }
        }
        #expect(thrown.all.count + unhandled.all.count == rounds)
        #expect(Set(thrown.all + unhandled.all).count == rounds, "each is seen once")
    }

    /// Lets another thread pass at the moment when it is opened.
    private final class Gate: Sendable {
        private let isOpen = Atomic<Bool>(false)
        func open() { isOpen.store(true, ordering: .releasing) }
        func pass() { while !isOpen.load(ordering: .acquiring) {} }
    }

    @Test("A1: a Deferred that nobody can complete any more ends a wait with .abandoned")
    func abandoned() {
        let (deferred, resolver) = Deferred<Int>.withResolver()
        DispatchQueue.global().async { [resolver] in _ = resolver.isCancelled }
        var only: Deferred<Int>.Resolver? = resolver
        DispatchQueue.global().async { [only] in _ = only?.isCancelled }
        only = nil
        _ = consume resolver
        #expect(throws: DeferredError.abandoned) { try deferred.wait() }
    }
}
