import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite("Synchronous peeks", .watchdog)
struct ResultsTests {
    struct Oops: Error {}

    @Test("successResult returns the value, and throws what it found instead")
    func success() throws {
        #expect(try successResult(of: Deferred.resolved(3)) == 3)
        let failed = #expect(throws: UnexpectedResult.self) {
            try successResult(of: Deferred<Int>.rejected(Oops()), fileID: "Here/File.swift", line: 7)
        }
        #expect(failed?.description == "Here/File.swift:7: expected a value, found failure Oops()")
        let pending = Deferred<Int>()
        #expect(throws: UnexpectedResult.self) { try successResult(of: pending) }
        pending.cancel()
    }

    @Test("failureResult returns the error, and throws what it found instead")
    func failure() throws {
        #expect(try failureResult(of: Deferred<Int>.rejected(Oops())) is Oops)
        _ = try failureResult(of: Deferred<Int>.rejected(Oops()), as: Oops.self)
        #expect(throws: UnexpectedResult.self) { try failureResult(of: Deferred.resolved(1)) }
        #expect(throws: UnexpectedResult.self) {
            try failureResult(of: Deferred<Int>.rejected(Oops()), as: DeferredError.self)
        }
        let pending = Deferred<Int>()
        #expect(throws: UnexpectedResult.self) { try failureResult(of: pending) }
        pending.cancel()
    }

    @Test("expectNoResult throws once there is a result")
    func noResult() throws {
        let deferred = Deferred<Int>()
        try expectNoResult(deferred)
        deferred.resolve(1)
        #expect(throws: UnexpectedResult.self) { try expectNoResult(deferred) }
        #expect(throws: UnexpectedResult.self) { try expectNoResult(Deferred<Int>.rejected(Oops())) }
    }

    @Test("expectNoUnhandledFailures throws when a failure went unhandled, and only then")
    func unhandled() async throws {
        try expectNoUnhandledFailures { Deferred<Int>.rejected(Oops()).fail { _ in } }
        let thrown = #expect(throws: UnexpectedDiagnostics.self) {
            try expectNoUnhandledFailures { _ = Deferred<Int>.rejected(Oops()) }
        }
        #expect(thrown?.diagnostics.count == 1)
        #expect(thrown?.description.contains("Oops()") == true)
        await #expect(throws: UnexpectedDiagnostics.self) {
            try await expectNoUnhandledFailures {
                let failed = Deferred<Int>.rejected(Oops())
                await Task.yield()
                _ = failed
            }
        }
        #expect(try expectNoUnhandledFailures { 5 } == 5)
    }

    @Test("diagnostics(reportedDuring:) returns what was reported")
    func reported() {
        let seen = diagnostics {
            let deferred = Deferred<Int>()
            deferred.resolve(1)
            deferred.resolve(2)
        }
        guard seen.count == 1, case .alreadySettled = seen[0] else {
            Issue.record("\(seen)")
            return
        }
    }

    @Test("a ManualDispatcher runs its work on request, in order, or releases it")
    func manualDispatcher() throws {
        let dispatcher = ManualDispatcher()
        let source = Deferred<Int>()
        let first = source.map(on: dispatcher) { $0 + 1 }
        let second = first.map(on: dispatcher) { $0 + 1 }
        source.resolve(1)
        #expect(dispatcher.count == 1)
        try expectNoResult(first)
        #expect(dispatcher.run() == 2)
        #expect(try successResult(of: second) == 3)
        let dropped = source.map(on: dispatcher) { $0 }
        dispatcher.dropAll()
        #expect(!dispatcher.runNext())
        #expect(try failureResult(of: dropped) as? DeferredError == .abandoned)
        #expect(try successResult(of: source.map(on: InlineDispatcher()) { $0 }) == 1)
    }
}
