import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite("Asynchronous operations", .watchdog)
struct AsyncOperationTests {
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
            throw TestError()
        }
        await #expect(throws: TestError.self) { try await failed.value }
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

    /// Asynchronous work, as an operation or as a callback.
    enum Form: CaseIterable {
        case operation, map, recover

        func start(_ body: @escaping @Sendable () async throws -> Int) -> Deferred<Int> {
            switch self {
            case .operation: Deferred(operation: body)
            case .map: Deferred.resolved(0).asyncMap { _ in try await body() }
            case .recover: Deferred<Int>.rejected(TestError()).asyncRecover { _ in try await body() }
            }
        }
    }

    /// The runtime keeps a Task from ending while its cancellation handlers run, so no test code can delay
    /// the cancel at the moment that matters. The operation races with it instead, on another thread.
    @Test(
        "C1: what an operation returns or throws because it is cancelled is never the outcome",
        .ownThreads, arguments: Form.allCases, [true, false])
    func endsByCancel(form: Form, throwsError: Bool) async throws {
        for _ in 0..<300 {
            let begun = Deferred<Void>()
            let deferred = form.start {
                begun.resolve()
                try? await Task.sleep(for: .seconds(600))
                if throwsError { throw TestError() }
                return 1
            }
            try await begun.value
            deferred.cancel()
            #expect(try failureResult(of: deferred) is CancellationError)
        }
    }

    @Test(
        "C4, C5: a cancel cancels the Task of a callback that runs, and one before that keeps it from running"
    )
    func cancelledCallback() async throws {
        let ended = Deferred<Void>()
        let running = Deferred.resolved(1).asyncMap { [clock] (_: Int) async throws in
            defer { ended.resolve() }
            try await clock.sleep(for: .seconds(1))
        }
        try await clock.whenScheduled().value
        running.cancel()
        #expect(try failureResult(of: running) is CancellationError)
        // The cancel may have come before the Task was suspended.
        try await ended.value
        #expect(clock.scheduled.isEmpty)
        let source = Deferred<Int>()
        let other = source.map { $0 }
        let late = source.asyncDone { (_: Int) async in Issue.record("ran") }
        late.cancel()
        source.resolve(1)
        #expect(try failureResult(of: late) is CancellationError)
        #expect(try successResult(of: other) == 1)
    }

    @Test("C2: the Task's outcome after a cancel is dropped without a report")
    func lateResult() async throws {
        let (gate, over) = (Deferred<Void>(), Deferred<Void>())
        try await expectNoUnhandledFailures {
            let deferred = Deferred<Int> {
                _ = await gate.result
                defer { over.resolve() }
                throw TestError()
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
        let seen = SpinLocked(0)
        await DeferredDiagnostics.withHandler { _ in
            seen.withLock { $0 += 1 }
        } _: {
            let done = Deferred {
                await Task.yield()
                let settled = Deferred<Int>()
                settled.resolve(1)
                settled.resolve(2)
            }
            _ = await done.result
        }
        #expect(seen.withLock { $0 } == 1)
    }

    private func current() async -> (priority: TaskPriority, Void) { (Task.currentPriority, ()) }

    @Test("A2: when it has ended, its captures are released")
    func lifetime() async throws {
        weak var watched: SharedLog<String>?
        do {
            let object = SharedLog<String>()
            watched = object
            let deferred = Deferred { await object.touch() }
            try await deferred.value
        }
        // The Task releases its closure after its last statement, which resolved the Deferred.
        while watched != nil { await Task.yield() }
    }
}

extension SharedLog<String> {
    func touch() async {}
}
