import Deferred
import DeferredTesting
import Testing

@Suite("Asynchronous operations")
struct AsyncOperationTests {
    struct Oops: Error {}
    let clock = ManualClock()

    @Test("its value or error is the outcome")
    func outcome() async throws {
        let value = Deferred { () async throws -> Int in
            await Task.yield()
            return 5
        }
        #expect(try await value.value == 5)
        let failed = Deferred<Int> {
            await Task.yield()
            throw Oops()
        }
        await #expect(throws: Oops.self) { try await failed.value }
    }

    @Test("C1: a cancel cancels the Task, and the Deferred fails at once")
    func cancel() async throws {
        let sawCancel = Deferred<Bool>()
        let deferred = Deferred { [clock] in
            do {
                try await clock.sleep(for: .seconds(1))
            } catch {
                sawCancel.resolve(Task.isCancelled)
                throw error
            }
        }
        try await clock.whenScheduled().value
        deferred.cancel()
        #expect(try failureResult(of: deferred) is CancellationError)
        #expect(try await sawCancel.value)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C2: what the Task still gives after a cancel is dropped without a report")
    func lateResult() async throws {
        let (gate, over) = (Deferred<Void>(), Deferred<Void>())
        try await expectNoUnhandledFailures {
            let deferred = Deferred<Int> {
                _ = await gate.result
                defer { over.resolve() }
                throw Oops()
            }
            deferred.cancel()
            gate.resolve()
            try await over.value
            #expect(try failureResult(of: deferred) is CancellationError)
        }
    }

    @Test("it begins with the priority and the task-local values given")
    func inherits() async throws {
        #expect(try await Deferred(priority: .high) { await current().priority }.value == .high)
        let seen = Guarded(0)
        await DeferredDiagnostics.withHandler { _ in
            seen.withLock { $0 += 1 }
        } _: {
            let done = Deferred {
                await Task.yield()
                let fired = Deferred<Int>()
                fired.resolve(1)
                fired.resolve(2)
            }
            _ = await done.result
        }
        #expect(seen.withLock { $0 } == 1)
    }

    private func current() async -> (priority: TaskPriority, Void) { (Task.currentPriority, ()) }

    @Test("A2: when it has ended, nothing that it captured is held")
    func lifetime() async throws {
        weak var watched: EventLog?
        do {
            let object = EventLog()
            watched = object
            let deferred = Deferred { await object.touch() }
            try await deferred.value
        }
        // The Task lets go of its closure after its last statement, which fired the Deferred.
        while watched != nil { await Task.yield() }
    }

    @Test("each form of Deferred(…) is the one that reads so")
    func overloads() async throws {
        let byResolver = Deferred<Int> { resolver in resolver.resolve(1) }
        #expect(try successResult(of: byResolver) == 1)
        let byShorthand = Deferred<Int> { $0.resolve(2) }
        #expect(try successResult(of: byShorthand) == 2)
        let byLongBody = Deferred<Int> { resolver in
            let sum = 1 + 2
            resolver.resolve(sum)
        }
        #expect(try successResult(of: byLongBody) == 3)
        let throwing = Deferred<Int> { _ in throw Oops() }
        #expect(try failureResult(of: throwing) is Oops)
        let caught = Deferred(catching: { 4 })
        #expect(try successResult(of: caught) == 4)
        let maybe = Deferred<Int>(catching: { caught })
        let unlabelled = Deferred { 4 }
        #expect(try successResult(of: unlabelled) == 4)
        let inner = Deferred<Int> { caught }
        #expect(try successResult(of: inner) == 4)
        #expect(try successResult(of: maybe) == 4)
        let cancelled = Deferred<Int>(canceller: { $0.resolve(5) })
        cancelled.cancel()
        #expect(try successResult(of: cancelled) == 5)
        let asynchronous = Deferred { await number(6) }
        #expect(try await asynchronous.value == 6)
        let long = Deferred {
            let first = await number(3)
            return first + 4
        }
        #expect(try await long.value == 7)
        let named: Deferred<Int> = Deferred(operation: { 8 })
        #expect(try await named.value == 8)
        let void = Deferred { _ = await number(0) }
        try await void.value
    }

    private func number(_ number: Int) async -> Int { number }
}

extension EventLog {
    func touch() async {}
}
