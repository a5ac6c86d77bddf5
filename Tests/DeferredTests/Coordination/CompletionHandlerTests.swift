import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

@Suite("Completion handlers", .watchdog)
struct CompletionHandlerTests {
    /// Returns a Deferred whose completion handler is called with these arguments.
    private func completed(_ value: Int?, _ error: (any Error)?) -> Deferred<Int> {
        Deferred { resolver in resolver.completionHandler()(value, error) }
    }

    @Test("a value completes the Deferred, an error fails it and wins over a value")
    func valueOrError() throws {
        #expect(try successResult(of: completed(1, nil)) == 1)
        #expect(try failureResult(of: completed(nil, TestError())) is TestError)
        #expect(try failureResult(of: completed(1, TestError())) is TestError)
    }

    @Test("neither is an error that says so, with the place")
    func neither() throws {
        let error = try failureResult(of: completed(nil, nil), as: DeferredError.self)
        #expect(error.description.hasSuffix("received neither a value nor an error"))
        #expect(error.description.contains("CompletionHandlerTests.swift:"))
    }

    @Test("a handler with an error alone completes a Deferred without a value")
    func errorAlone() throws {
        func completed(_ error: (any Error)?) -> Deferred<Void> {
            Deferred { resolver in
                let handler: @Sendable ((any Error)?) -> Void = resolver.completionHandler()
                handler(error)
            }
        }
        try successResult(of: completed(nil))
        #expect(try failureResult(of: completed(TestError())) is TestError)
    }

    @Test("A1: a handler that is released without having been called fails the Deferred with .abandoned")
    func neverCalled() throws {
        let deferred = Deferred<Int> { resolver in _ = resolver.completionHandler() }
        #expect(try failureResult(of: deferred) as? DeferredError == .abandoned)
    }

    @Test("F1: a second call is reported with the place of the handler")
    func calledTwice() throws {
        let seen = diagnostics {
            let (deferred, resolver) = Deferred<Int>.withResolver()
            let handler = resolver.completionHandler()
            handler(1, nil)
            handler(nil, TestError())
            _ = deferred.currentResult
        }
        #expect(seen.count == 1)
        #expect(seen.first?.description.contains("CompletionHandlerTests.swift") == true)
    }
}
