import Deferred
import DeferredTesting
import Dispatch
import Foundation
import TestSupport
import Testing

@Suite("wait: deadlocks", .watchdog)
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
            ]
        }
        #expect(refusals == [true, true])
        #expect(Self.inside(on: DispatchQueue(label: "own")) { [Self.refusal(of: $0)] } == [true])
    }

    @Test("a callback that waits for a later one of the same Deferred is refused, however that ended")
    func insideCallbackForSibling() throws {
        let refusals = SharedLog<Bool>()
        func refuse(in source: Deferred<Int>) {
            source.both { _ in refusals.add(Self.refusal(of: source.map { $0 })) }
        }
        let later = Slot<Deferred<Int>>(nil)
        let source = Deferred<Int>()
        source.done { _ in refusals.add(Self.refusal(of: later.now!)) }
        later.put(source.map { $0 })
        source.resolve(1)
        #expect(try successResult(of: later.now!) == 1)
        let (settled, paused) = (Deferred.resolved(2), Deferred.resolved(3))
        refuse(in: settled)
        paused.pause()
        refuse(in: paused)
        paused.unpause()
        refuse(in: Deferred<Int>.withResolver().deferred)  // abandoned
        #expect(refusals.all == [true, true, true, true])
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
        let onActor = pending.map(on: MainActor.self) { $0 }
        let after = onQueue.map { $0 }
        let nested = Deferred.resolved(1).then { _ in after }
        let handedOver = Deferred.resolved(1).map(on: .main) { $0 }
        #expect(Self.refusal(of: onQueue))
        #expect(Self.refusal(of: onActor))
        #expect(Self.refusal(of: after))
        #expect(Self.refusal(of: nested))
        #expect(Self.refusal(of: handedOver, timeout: .seconds(1000)))
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

    @Test("a list, and a Deferred that follows another, are waited for")
    @MainActor func others() throws {
        let pending = Deferred<Int>()
        #expect(Self.waits(for: gather(Self.stuck(), pending)))
        #expect(Self.waits(for: Self.stuck().shielded()))
        let other = Deferred<Int>()
        let first = DeferredList([Self.stuck(), other]).first()
        Thread.detachNewThread { other.resolve(7) }
        #expect(try first.wait().value == 7)
        pending.cancel()
    }

    @Test("F6: a long chain is looked through without recursion")
    @MainActor func longChain() {
        var chain = Self.stuck()
        for _ in 0..<Extent.depth { chain = chain.map { $0 } }
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
        let later = Slot<Deferred<Int>>(nil)
        later.put(source.map { $0 + 2 })
        source.resolve(1)
        #expect(Self.waits(for: attached.now!))
        #expect(Self.waits(for: later.now!))
        Thread.detachNewThread { source.unpause() }
        #expect(try attached.now!.wait() == 2)
        #expect(try later.now!.wait() == 3)
    }

    @Test("what a timeout ends is waited for, whatever it ends")
    func timeouts() {
        let clock = ManualClock()
        let answers = Self.inside { link in
            let pending = Deferred<Int>()
            defer { withExtendedLifetime(pending) {} }
            return [pending, link].map { Self.waits(for: $0.timeout(.seconds(1), timer: clock)) }
        }
        #expect(answers == [true, true])
    }
}
