internal import Deferred
public import Testing

/// Has diagnostics of a test printed nowhere, where they are not what it is about. A test may set a handler of its own.
public struct SilentDiagnostics: SuiteTrait, TestTrait, TestScoping {
    /// On a suite it applies to each of the suite's tests.
    public let isRecursive = true

    /// Runs a test case without what it would print.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await DeferredDiagnostics.withHandler({ _ in }) { try await function() }
    }
}

extension Trait where Self == SilentDiagnostics {
    /// For tests that leave failures unhandled, or Deferreds that nothing can complete.
    public static var silentDiagnostics: SilentDiagnostics { SilentDiagnostics() }
}
