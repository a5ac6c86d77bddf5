import Deferred
import DeferredTesting
import Dispatch
import Foundation
import Testing

@Suite("wait: deadlocks")
struct WaitDeadlockTests {
    /// What a wait here came to, as its caller sees it; the place is that of the call.
    private static func refusal<Value: Sendable>(
        of deferred: Deferred<Value>, timeout: Duration? = nil, line: UInt = #line
    ) -> Bool {
        let place = DeferredDiagnostic.Location(line: line)
        do {
            _ = try deferred.wait(timeout: timeout, line: line)
            return false
        } catch {
            return error as? DeferredError == .wouldDeadlock(at: place)
        }
    }

    @Test(
        "a callback that waits for its own result, or for what comes after it, is refused, with a timeout too"
    )
    func insideCallback() throws {
        let refusals = Chronicle<Bool>()
        let source = Deferred<Int>()
        let link = Slot<Deferred<Int>>(nil)
        let last = Slot<Deferred<Int>>(nil)
        link.put(
            source.then { value in
                refusals.add(Self.refusal(of: link.now!))
                refusals.add(Self.refusal(of: last.now!, timeout: .seconds(1000)))
                return value
            })
        last.put(link.now!.then { $0 + 1 }.then { Deferred.resolved($0) })
        source.resolve(1)
        #expect(refusals.all == [true, true])
        #expect(try successResult(of: last.now!) == 2)
    }

    @Test("a callback that waits for a later one of the same Deferred is refused")
    func insideCallbackForSibling() throws {
        let refusals = Chronicle<Bool>()
        let later = Slot<Deferred<Int>>(nil)
        let source = Deferred<Int>()
        source.then { _ in refusals.add(Self.refusal(of: later.now!)) }
        later.put(source.then { $0 })
        source.resolve(1)
        let fired = Deferred.resolved(2)
        fired.then { _ in refusals.add(Self.refusal(of: fired.then { $0 })) }
        #expect(refusals.all == [true, true])
        #expect(try successResult(of: later.now!) == 1)
    }

    @Test("a callback on a queue that waits for its own result is refused")
    func insideDispatchedCallback() {
        let refusals = Chronicle<Bool>()
        let link = Slot<Deferred<Int>>(nil)
        let source = Deferred<Int>()
        link.put(
            source.then(on: DispatchQueue(label: "own")) { value in
                refusals.add(Self.refusal(of: link.now!))
                return value
            })
        source.resolve(1)
        #expect(throws: Never.self) { try link.now!.wait() }
        #expect(refusals.all == [true])
    }

    @Test("a callback may wait for what another thread brings, and for what has settled")
    func insideCallbackForOthers() throws {
        let other = Deferred<Int>()
        let source = Deferred<Int>()
        let sum = source.then { value in
            Thread.detachNewThread { other.resolve(2) }
            return try value + other.then { $0 }.wait() + source.wait()
        }
        source.resolve(1)
        #expect(try sum.wait() == 4)
    }

    @Test("on the main queue what needs a callback there is refused: to come, handed over, nested, in a list")
    @MainActor func mainQueue() throws {
        let pending = Deferred<Int>()
        let onQueue = pending.then(on: .main) { $0 }
        let onActor = pending.then(on: MainActor.self) { $0 }
        let after = onQueue.then { $0 }
        let nested = Deferred.resolved(1).then { _ in after }
        let handedOver = Deferred.resolved(1).then(on: .main) { $0 }
        let list = DeferredList([handedOver, Deferred.resolved(2)]).results()
        let joined = gather(pending, handedOver)
        #expect(Self.refusal(of: onQueue))
        #expect(Self.refusal(of: onActor))
        #expect(Self.refusal(of: after))
        #expect(Self.refusal(of: nested))
        #expect(Self.refusal(of: handedOver, timeout: .seconds(1000)))
        #expect(Self.refusal(of: list))
        #expect(Self.refusal(of: after.shielded()))
        // A look is no wait, and what a failure could end early is not refused.
        #expect(throws: DeferredError.timedOut) { try onQueue.wait(timeout: .zero) }
        #expect(throws: DeferredError.timedOut) { try joined.wait(timeout: .milliseconds(1)) }
        pending.cancel()
    }

    @Test("off the main queue a callback there may be waited for")
    func mainQueueFromElsewhere() async throws {
        let handedOver = Deferred.resolved(1).then(on: .main) { $0 + 1 }
        let result = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Result { try handedOver.wait() }) }
        }
        #expect(try result.get() == 2)
    }

    @Test("U1: a failure that a refused wait did not see is not handled by it")
    func refusedHandlesNothing() {
        let seen = diagnostics {
            let source = Deferred<Int>()
            let link = Slot<Deferred<Int>>(nil)
            link.put(
                source.then { _ -> Int in
                    _ = Self.refusal(of: link.now!)
                    throw CocoaError(.coderInvalidValue)
                })
            source.resolve(1)
            link.drop()
        }
        #expect(seen.count == 1)
    }
}
