import Deferred
import Testing

extension Rules {
    @Suite("Rules C3, C6, P1, A1, U1: awaiting", .enabled(if: Rules.hasImmediateTasks)) struct Awaiting {
        @Test("C6: value returns the value or throws the error, result returns either")
        func awaits() async throws {
            #expect(try await Deferred.resolved(1).value == 1)
            await #expect(throws: Boom(1)) { try await Deferred<Int>.rejected(Boom(1)).value }
            #expect(outcome(await Deferred<Int>.rejected(Boom(2)).result) == "Boom(2)")
            let later = Deferred<Int>()
            let (value, result) = (
                begin { try await later.value }, begin { await later.result }
            )
            later.reject(Boom(3))
            #expect(outcome(await value.result) == "Boom(3)")
            #expect(outcome(try await result.value) == "Boom(3)")
        }

        @Test("C6: a cancelled Task's await of a shared Deferred throws, and the others go on")
        func taskCancelledOthersGoOn() async throws {
            let source = Deferred<Int>()
            let other = source.map { $0 }
            let (one, two) = (begin { try await source.value }, begin { await source.result })
            one.cancel()
            #expect(outcome(await one.result) == "cancelled")
            #expect(outcome(source) == "pending")
            source.resolve(1)
            #expect(outcome(other) == "1")
            #expect(outcome(try await two.value) == "1")
        }

        @Test(
            "C6: a cancelled Task's await cancels what it alone consumes, and throws whatever becomes of it")
        func throwsAtOnce() async throws {
            let recovered = Deferred<Int>(canceller: { $0.resolve(5) })
            let position = recovered.map { $0 }
            let task = begin { try await position.value }
            task.cancel()
            #expect(outcome(await task.result) == "cancelled")
            #expect([recovered, position].map(outcome) == ["5", "5"])

            let pending = Deferred<Int>()
            let source = Deferred<Int>()
            let stays = source.orElse { _ in pending }
            let task2 = begin { await stays.result }
            task2.cancel()
            #expect(outcome(try await task2.value) == "cancelled")
            #expect(outcome(stays) == "pending")
            pending.resolve(2)
            #expect(outcome(stays) == "2")
        }

        @Test("C6: a Task that was cancelled before it came to await cancels all the same")
        func cancelledBefore() async {
            let source = Deferred<Int>()
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await source.value
            }
            #expect(outcome(await task.result) == "cancelled")
            #expect(outcome(source) == "cancelled")
        }

        @Test("C6: a cancelled Task receives an outcome only where it need not wait for it")
        func cancelledAfterOutcome() async {
            @Sendable func awaitCancelled(_ source: Deferred<Int>) -> Task<Int, any Error> {
                begin {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await source.value
                }
            }
            #expect(outcome(await awaitCancelled(.resolved(1)).result) == "1")

            let (calling, task) = (Deferred<Int>(), Box<Task<Int, any Error>?>(nil))
            calling.done { _ in
                let awaiting = awaitCancelled(calling)
                task.change { $0 = awaiting }
            }
            calling.resolve(2)
            #expect(outcome(await task.value!.result) == "cancelled")
            #expect(outcome(await awaitCancelled(calling).result) == "2")

            let paused = Deferred<Int>()
            paused.pause()
            paused.resolve(3)
            #expect(outcome(await awaitCancelled(paused).result) == "cancelled")
            paused.unpause()
            #expect(outcome(await awaitCancelled(paused).result) == "3")
        }

        @Test("P1: an await of a paused Deferred, pending or settled, is resumed when it is unpaused")
        func pausedAwait() async throws {
            for isSettled in [true, false] {
                let log = Log()
                let source = Deferred<Int>()
                source.pause()
                if isSettled { source.resolve(1) }
                let task = begin {
                    let value = try await source.value
                    log("awaited")
                    return value
                }
                if !isSettled { source.resolve(1) }
                source.done { _ in log("callback") }
                #expect(log.all.isEmpty)
                source.unpause()
                #expect(try await task.value == 1)
                #expect(log.all.contains("callback"))
            }
        }

        @Test("A1: a Task that awaits what nothing can complete any more gets .abandoned")
        func abandonedAwait() async {
            let task: Task<Int, any Error>
            do {
                let source = Deferred<Int>()
                let position = source.map { $0 }
                task = begin { try await position.value }
                keep(source)
            }
            #expect(outcome(await task.result) == "abandoned")
        }

        @Test("U1: an await handles a failure; that of a source which its Task has cancelled is not reported")
        func awaitHandles() async {
            let found = Box<[DeferredDiagnostic]>([])
            await DeferredDiagnostics.withHandler({ report in found.change { $0.append(report) } }) {
                do {
                    let source = Deferred<Int>()
                    let task = begin { try await source.value }
                    source.reject(Boom(1))
                    _ = await task.result
                }
                #expect(found.value.isEmpty)
                do {
                    let source = Deferred<Int>(canceller: { $0.reject(Boom(2)) })
                    let task = begin { try await source.value }
                    task.cancel()
                    _ = await task.result
                }
                #expect(found.value.isEmpty)
            }
        }
    }

    /// Whether a Task can be started such that its await is attached when the initialiser returns.
    static var hasImmediateTasks: Bool {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { true } else { false }
    }

    /// Runs `body` at once, up to its first suspension.
    static func begin<Value: Sendable>(_ body: sending @escaping () async throws -> Value) -> Task<
        Value, any Error
    > {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate(operation: body)
        } else {
            preconditionFailure("the suite is not enabled here")
        }
    }
}
