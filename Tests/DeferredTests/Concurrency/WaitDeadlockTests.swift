import Deferred
import DeferredTesting
import Dispatch
import Foundation
import TestSupport
import Testing

@Suite("wait: deadlocks")
struct WaitDeadlockTests {
    /// Returns whether a wait here is refused with the location of this call. It has a timeout, so that a
    /// wait that is not refused fails its test instead of hanging.
    private static func refusal<Value: Sendable>(
        of deferred: Deferred<Value>, timeout: Duration? = .nanoseconds(1), line: UInt = #line
    ) -> Bool {
        let place = DeferredDiagnostic.Location(line: line)
        do {
            _ = try deferred.wait(timeout: timeout, line: line)
            return false
        } catch {
            return error as? DeferredError == .wouldDeadlock(at: place)
        }
    }

    /// Returns what `ask` answers inside a callback, which it is passed the link of.
    private static func inside(
        on dispatcher: (any Dispatcher)? = nil, _ ask: @escaping @Sendable (Deferred<Int>) -> [Bool]
    ) -> [Bool] {
        let answers = SharedLog<[Bool]>()
        let link = Slot<Deferred<Int>>(nil)
        let source = Deferred<Int>()
        link.put(
            source.map(on: dispatcher) { value in
                answers.add(ask(link.now!))
                return value
            })
        source.resolve(1)
        #expect(throws: Never.self) { try link.now!.wait() }
        link.drop()
        return answers.all.flatMap { $0 }
    }

    @Test("a callback that waits for its own result, or for what comes after it, is refused")
    func insideCallback() {
        let refusals = Self.inside { link in
            let last = link.map { $0 + 1 }.then { Deferred.resolved($0) }
            return [
                Self.refusal(of: link, timeout: nil), Self.refusal(of: last, timeout: .seconds(1000)),
                Self.refusal(of: gather(link, Deferred.resolved(2))),
                Self.refusal(of: DeferredList([link]).first()),
            ]
        }
        #expect(refusals == [true, true, true, true])
        #expect(Self.inside(on: DispatchQueue(label: "own")) { [Self.refusal(of: $0)] } == [true])
    }

    @Test("a callback that waits for a later one of the same Deferred is refused, settled or abandoned")
    func insideCallbackForSibling() {
        let refusals = SharedLog<Bool>()
        for source in [Deferred<Int>(), Deferred.resolved(2), Deferred<Int>.withResolver().deferred] {
            source.both { _ in refusals.add(Self.refusal(of: source.map { $0 })) }
            if !source.hasFired { source.resolve(1) }
        }
        #expect(refusals.all == [true, true, true])
    }

    @Test("a callback may wait for what another thread brings, and for what has settled")
    func insideCallbackForOthers() throws {
        let other = Deferred<Int>()
        let source = Deferred<Int>()
        let sum = source.map { value in
            Thread.detachNewThread { other.resolve(2) }
            return try value + other.map { $0 }.wait() + source.wait()
        }
        source.resolve(1)
        #expect(try sum.wait() == 4)
    }

    @Test("on the main queue a wait that needs a callback there is refused")
    @MainActor func mainQueue() throws {
        let pending = Deferred<Int>()
        let onQueue = pending.map(on: .main) { $0 }
        #expect(Self.refusal(of: onQueue))
        #expect(Self.refusal(of: pending.map(on: MainActor.self) { $0 }))
        #expect(Self.refusal(of: Deferred.resolved(1).then { _ in onQueue.map { $0 } }.shielded()))
        #expect(Self.refusal(of: Self.stuck(), timeout: .seconds(1000)))
        // A peek is not a wait.
        #expect(throws: DeferredError.timedOut) { try onQueue.wait(timeout: .zero) }
        pending.cancel()
    }

    /// Returns a Deferred that only a callback on the main queue can complete.
    private static func stuck(_ value: Int = 1) -> Deferred<Int> {
        Deferred.resolved(value).map(on: .main) { $0 }
    }

    /// Returns whether a wait for `deferred`, which nothing completes, lasts until its time limit.
    private static func waits<Value: Sendable>(for deferred: Deferred<Value>) -> Bool {
        do {
            _ = try deferred.wait(timeout: .nanoseconds(1))
            return false
        } catch {
            return error as? DeferredError == .timedOut
        }
    }

    @Test("a list is refused if all of its inputs still pending are stuck")
    @MainActor func lists() {
        let (pending, failed) = (Deferred<Int>(), Deferred<Int>.rejected(CancellationError()))
        let later = pending.map(on: .main) { $0 }
        #expect(Self.refusal(of: gather(gather(Self.stuck(), later), later.map { $0 })))
        #expect(Self.refusal(of: DeferredList([Self.stuck(), later, later]).values()))
        #expect(Self.refusal(of: DeferredList([failed, Self.stuck()]).first()))
        #expect(Self.waits(for: gather(gather(Self.stuck(), pending), later)))
        #expect(Self.waits(for: DeferredList([Self.stuck(), pending]).values()))
        #expect(Self.waits(for: DeferredList([Self.stuck(), pending, failed]).first()))
        pending.cancel()
    }

    @Test("what could still end early does, though an input needs the main queue")
    @MainActor func endsEarly() throws {
        let pending = Deferred<Int>()
        let joined = gather(Self.stuck(), pending.map { $0 })
        Thread.detachNewThread { pending.reject(CocoaError(.coderInvalidValue)) }
        #expect(throws: CocoaError.self) { try joined.wait() }
        let other = Deferred<Int>()
        let first = DeferredList([Self.stuck(), other]).first()
        Thread.detachNewThread { other.resolve(7) }
        #expect(try first.wait().value == 7)
    }

    @Test("a list with a limit is refused if all places are taken by what is stuck")
    @MainActor func limited() {
        func list(limit: Int, _ body: @escaping @Sendable (Int) -> Deferred<Int>) -> DeferredList<Int> {
            DeferredList(0..<4, limit: limit, body)
        }
        for limit in [1, 9] {
            #expect(Self.refusal(of: list(limit: limit) { Self.stuck($0) }.first()))
            #expect(Self.refusal(of: list(limit: limit) { $0 == 0 ? .resolved(0) : Self.stuck() }.values()))
        }
        let pending = Deferred<Int>()
        let some = list(limit: 2) { $0 == 1 ? pending : Self.stuck() }
        #expect(Self.waits(for: some.values()) && Self.waits(for: some.first()))
        pending.resolve(1)
    }

    @Test("what can only be completed by what it follows is refused like that")
    @MainActor func followers() {
        func following(_ other: [Deferred<Int>]) -> Deferred<Int> {
            let (deferred, resolver) = Deferred<Int>.withResolver()
            for other in other { other.chain(to: resolver) }
            return deferred
        }
        let pending = Deferred<Int>()
        #expect(Self.refusal(of: following([Self.stuck(), Self.stuck()]).map { $0 }))
        #expect(Self.waits(for: following([Self.stuck(), pending])))

        let byHand = Deferred<Int>()
        byHand.follow(Self.stuck())
        #expect(Self.waits(for: byHand))
        withExtendedLifetime(byHand) {}
        pending.cancel()
    }

    @Test("an attempt of a retry, a repeated run and a cache's request are seen through")
    @MainActor func throughOthers() {
        let clock = ManualClock()
        #expect(Self.refusal(of: Deferred.retry(on: clock) { Self.stuck() }))
        let repeating = Deferred.repeating(every: .seconds(1), on: clock) { Self.stuck() }
        #expect(Self.refusal(of: repeating))
        repeating.cancel()
        let cache = DeferredCache<Int, Int>()
        #expect(Self.refusal(of: cache.value(for: 1) { Self.stuck() }))

        let shared = Self.stuck()
        let limited = (shared.timeout(.seconds(5), on: clock), shared.map { $0 })
        #expect(Self.waits(for: limited.0))
        clock.advance(by: .seconds(5))
        #expect(throws: DeferredError.timedOut) { try limited.0.wait() }
    }

    @Test("F6: a chain of 100,000 links is looked through without recursion")
    @MainActor func longChain() {
        var chain = Self.stuck()
        for _ in 0..<100_000 { chain = chain.map { $0 } }
        #expect(Self.refusal(of: chain))
    }

    @Test("off the main queue a callback there may be waited for")
    func mainQueueFromElsewhere() async throws {
        let handedOver = Deferred.resolved(1).map(on: .main) { $0 + 1 }
        let result = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Result { try handedOver.wait() }) }
        }
        #expect(try result.get() == 2)
    }

    @Test("U1: a failure that a refused wait did not see is not handled by it")
    func refusedHandlesNothing() {
        let seen = diagnostics {
            let link = Slot<Deferred<Int>>(nil)
            let source = Deferred<Int>()
            link.put(
                source.map { _ -> Int in
                    _ = Self.refusal(of: link.now!)
                    throw CocoaError(.coderInvalidValue)
                })
            source.resolve(1)
            link.drop()
        }
        #expect(seen.count == 1)
    }

    @Test("what is attached during a callback and suspended by a pause may be waited for")
    func attachedAndPaused() throws {
        let source = Deferred<Int>()
        let attached = Slot<Deferred<Int>>(nil)
        source.done { _ in
            source.pause()
            attached.put(source.map { $0 + 1 })
        }
        source.resolve(1)
        #expect(Self.waits(for: attached.now!))
        Thread.detachNewThread { source.unpause() }
        #expect(try attached.now!.wait() == 2)
    }

    @Test("what a timeout ends is waited for, whatever it ends")
    func timeouts() {
        let clock = ManualClock()
        let answers = Self.inside { link in
            let pending = Deferred<Int>()
            defer { withExtendedLifetime(pending) {} }
            return [pending, link].map { Self.waits(for: $0.timeout(.seconds(1), on: clock)) }
        }
        #expect(answers == [true, true])
    }
}
