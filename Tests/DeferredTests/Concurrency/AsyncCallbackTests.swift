import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite("Asynchronous callbacks")
struct AsyncCallbackTests {
    let clock = ManualClock()

    private func doubled(_ number: Int) async throws -> Int {
        if number < 0 { throw TestError() }
        return number * 2
    }

    @Test("L4: the chain waits for an asynchronous callback, and takes what it returns or throws")
    func then() async throws {
        let source = Deferred<Int>()
        let chain = source.asyncMap { try await doubled($0) }.map { $0 + 1 }
        let done = source.asyncDone { _ = try await doubled($0) }
        source.resolve(4)
        #expect(try await chain.value == 9)
        try await done.value
        let failed = Deferred.resolved(-1).asyncMap { try await doubled($0) }
        await #expect(throws: TestError.self) { try await failed.value }
    }

    @Test("L1: a failure bypasses asyncMap, a value bypasses asyncRecover")
    func passing() async throws {
        let failed = Deferred<Int>.rejected(TestError())
        await #expect(throws: TestError.self) { try await failed.asyncMap { try await doubled($0) }.value }
        #expect(try await failed.asyncRecover { _ in try await doubled(3) }.value == 6)
        #expect(try await Deferred.resolved(1).asyncRecover { _ in try await doubled(3) }.value == 1)
    }

    @Test("C4: a cancel while it runs cancels its Task")
    func cancel() async throws {
        let chain = Deferred.resolved(1).asyncMap { [clock] number in
            try await clock.sleep(for: .seconds(1))
            return number
        }
        try await clock.whenScheduled().value
        chain.cancel()
        #expect(try failureResult(of: chain) is CancellationError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C5: cancelled before it is dequeued, it does not run")
    func cancelledBefore() throws {
        let log = SharedLog<String>()
        let source = Deferred<Int>()
        let keeper = source.map { $0 }
        let chain = source.asyncDone { (_: Int) async in log.add("ran") }
        chain.cancel()
        source.resolve(1)
        #expect(try failureResult(of: chain) is CancellationError)
        #expect(try successResult(of: keeper) == 1)
        #expect(log.all.isEmpty)
    }

    @Test("a closure on an actor runs there, isolated")
    func onActor() async throws {
        let counter = Counter()
        let count = Deferred.resolved(2).asyncMap { await counter.add($0) }
        #expect(try await count.value == 2)
    }

    private actor Counter {
        var count = 0
        func add(_ number: Int) -> Int {
            count += number
            return count
        }
    }
}
