import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Deferred

@Suite("DispatchQueue.deferred", .watchdog)
struct QueueDeferredTests {
    let queue = DispatchQueue(label: "QueueDeferredTests")
    let log = SharedLog<String>()

    @Test("runs the body on the queue, and returns what it returns or throws")
    func runs() async throws {
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        #expect(try await queue.deferred { DispatchQueue.getSpecific(key: key) == true }.value)
        await #expect(throws: TestError.self) { try await queue.deferred { throw TestError() }.value }
        let following = queue.deferredFollowing {
            Deferred.resolved(DispatchQueue.getSpecific(key: key) == true)
        }
        #expect(try await following.value)
        await #expect(throws: TestError.self) {
            try await queue.deferredFollowing { () -> Deferred<Int> in throw TestError() }.value
        }
    }

    @Test("C1: cancelled before it starts, the body never runs and is released at once")
    func cancelledBefore() throws {
        queue.suspend()
        var object: SharedLog<String>? = SharedLog<String>()
        weak var watched: SharedLog<String>?
        watched = object
        let value = queue.deferred { [object] in object?.add("ran") }
        let following = queue.deferredFollowing { [object, log] in
            _ = object
            log.add("ran")
            return Deferred.resolved(1)
        }
        object = nil
        #expect(watched != nil)
        value.cancel()
        following.cancel()
        #expect(try failureResult(of: value) is CancellationError)
        #expect(try failureResult(of: following) is CancellationError)
        #expect(watched == nil)
        queue.resume()
        queue.sync {}
        #expect(log.all.isEmpty)
    }

    @Test("Q-e, C4: cancelled while the body runs, what it throws or makes is not reported, only cancelled")
    func followingCancelledDuring() throws {
        let shared = Deferred<Int>()
        let consumer = shared.map { $0 }
        let bodies: [@Sendable () throws -> Deferred<Int>] = [
            { throw TestError() }, { .rejected(TestError()) },
            { Deferred(canceller: { $0.reject(TestError()) }) }, { shared },
        ]
        for body in bodies {
            let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let reports = SharedLog<String>()
            DeferredDiagnostics.withHandler({ reports.add($0.description) }) {
                let value = queue.deferredFollowing { () throws -> Deferred<Int> in
                    entered.signal()
                    gate.wait()
                    return try DeferredDiagnostics.withHandler({ reports.add($0.description) }, body)
                }
                entered.wait()
                value.cancel()
                gate.signal()
                #expect(value.isSettled)
            }
            queue.sync {}
            #expect(reports.all.isEmpty)
        }
        shared.resolve(3)
        #expect(try successResult(of: consumer) == 3)
    }

    @Test("C2: cancelled while the body runs, its result is dropped silently")
    func cancelledDuring() throws {
        let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        try expectNoUnhandledFailures {
            let value = queue.deferred { () throws -> Int in
                entered.signal()
                gate.wait()
                throw TestError()
            }
            entered.wait()
            value.cancel()
            gate.signal()
            queue.sync {}
            let error = try failureResult(of: value)
            #expect(error is CancellationError)
        }
    }

    @Test(
        "C4, C5: a cancel reaches the Deferred that the body returned, or is returning",
        arguments: [true, false])
    func cancelledLater(duringBody: Bool) throws {
        let nested = Deferred<Int>()
        let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let following = queue.deferredFollowing { () -> Deferred<Int> in
            entered.signal()
            if duringBody { gate.wait() }
            return nested
        }
        entered.wait()
        if !duringBody { queue.sync {} }
        following.cancel()
        gate.signal()
        queue.sync {}
        #expect(try failureResult(of: following) is CancellationError)
        #expect(try failureResult(of: nested) is CancellationError)
    }
}
