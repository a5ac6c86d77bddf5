import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

/// The Task of an asynchronous body that is stored (X1).
@Suite("CallersTask", .watchdog)
struct CallersTasks {
    @Test(
        "Q3, V2: an operation that is added before the call has ended is run, though another has begun in the call"
    )
    func addedWithinTheCall() async throws {
        let (gate, open) = Deferred<Void>.withResolver()
        let (first, second) = CallersTask.calling { task in
            let first = task.run(
                { () async throws -> Int in
                    try await gate.value
                    return 1
                }, #fileID, #line)
            return (first, task.run({ () async throws -> Int in 2 }, #fileID, #line))
        }
        open.resolve()
        #expect(try await first.value == 1)
        #expect(try await second.value == 2)
    }
}
