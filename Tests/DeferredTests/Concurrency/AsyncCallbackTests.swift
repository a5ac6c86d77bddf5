import Deferred
import DeferredTesting
import Testing

@Suite("Asynchronous callbacks")
struct AsyncCallbackTests {
    struct Oops: Error {}
    let clock = ManualClock()

    private func doubled(_ number: Int) async throws -> Int {
        if number < 0 { throw Oops() }
        return number * 2
    }

    @Test("L4: the chain waits for an asynchronous callback, and takes what it returns or throws")
    func then() async throws {
        let source = Deferred<Int>()
        let chain = source.then { try await doubled($0) }.then { $0 + 1 }
        let done = source.then { _ = try await doubled($0) }
        source.resolve(4)
        #expect(try await chain.value == 9)
        try await done.value
        let failed = Deferred.resolved(-1).then { try await doubled($0) }
        await #expect(throws: Oops.self) { try await failed.value }
    }

    @Test("L1: a failure passes by `then`, a value by `fail`, and `both` sees either")
    func passing() async throws {
        let failed = Deferred<Int>.rejected(Oops())
        await #expect(throws: Oops.self) { try await failed.then { try await doubled($0) }.value }
        #expect(try await failed.fail { _ in try await doubled(3) }.value == 6)
        #expect(try await Deferred.resolved(1).fail { _ in try await doubled(3) }.value == 1)
        #expect(try await failed.both { _ in try await doubled(4) }.value == 8)
        #expect(try await Deferred.resolved(1).both { try await doubled($0.get()) }.value == 2)
    }

    @Test("C4: a cancel while it runs cancels its Task")
    func cancel() async throws {
        let chain = Deferred.resolved(1).then { [clock] number in
            try await clock.sleep(for: .seconds(1))
            return number
        }
        try await clock.whenScheduled().value
        chain.cancel()
        #expect(try failureResult(of: chain) is CancellationError)
        while !clock.scheduled.isEmpty { await Task.yield() }
    }

    @Test("C5: cancelled before its turn, it does not run")
    func cancelledBefore() throws {
        let log = EventLog()
        let source = Deferred<Int>()
        let keeper = source.then { $0 }
        let chain = source.then { (_: Int) async in log.add("ran") }
        chain.cancel()
        source.resolve(1)
        #expect(try failureResult(of: chain) is CancellationError)
        #expect(try successResult(of: keeper) == 1)
        #expect(log.all.isEmpty)
    }

    @Test("a synchronous closure still is a synchronous callback, in every form")
    func synchronousForms() throws {
        let source = Deferred<Int>()
        let value = source.then { $0 + 1 }
        let nested = source.then { Deferred.resolved($0 + 2) }
        let void = source.then { _ in }
        let long = source.then { number in
            let sum = number + 3
            return sum
        }
        let rescued = source.then { _ in throw Oops() }.fail { _ in }
        let both = source.both { try $0.get() + 4 }
        source.resolve(1)
        #expect(try successResult(of: value) == 2)
        #expect(try successResult(of: nested) == 3)
        #expect(try successResult(of: long) == 4)
        #expect(try successResult(of: both) == 5)
        try successResult(of: void)
        try successResult(of: rescued)
    }

    @Test("a closure on an actor runs there, isolated")
    func onActor() async throws {
        let counter = Counter()
        let count = Deferred.resolved(2).then { await counter.add($0) }
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
