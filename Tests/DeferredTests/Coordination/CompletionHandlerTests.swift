import DeferredTesting
import Testing

@testable import Deferred

@Suite("Completion handlers")
struct CompletionHandlerTests {
    /// An API with completion handlers.
    struct Legacy {
        var value: Int?
        var error: (any Error)?
        func load(completionHandler: (Int?, (any Error)?) -> Void) { completionHandler(value, error) }
        func save(completionHandler: ((any Error)?) -> Void) { completionHandler(error) }
        func forget(completionHandler: (Int?, (any Error)?) -> Void) {}
    }

    private func load(_ legacy: Legacy) -> Deferred<Int> {
        Deferred { resolver in legacy.load(completionHandler: resolver.completionHandler()) }
    }

    private func save(_ legacy: Legacy) -> Deferred<Void> {
        Deferred { resolver in legacy.save(completionHandler: resolver.completionHandler()) }
    }

    @Test("a value completes the Deferred, an error fails it and wins over a value")
    func valueOrError() throws {
        #expect(try successResult(of: load(Legacy(value: 1))) == 1)
        #expect(try failureResult(of: load(Legacy(error: TestError()))) is TestError)
        #expect(try failureResult(of: load(Legacy(value: 1, error: TestError()))) is TestError)
        let (deferred, resolver) = Deferred<Int>.withResolver()
        #expect(resolver.complete(1, nil))
        #expect(try successResult(of: deferred) == 1)
    }

    @Test("neither is an error that says so, with the place")
    func neither() throws {
        let error = try failureResult(of: load(Legacy()), as: DeferredError.self)
        #expect(error.description.hasSuffix("received neither a value nor an error"))
        #expect(error.description.contains("CompletionHandlerTests.swift:"))
    }

    @Test("a handler with an error alone completes a Deferred without a value")
    func errorAlone() throws {
        try successResult(of: save(Legacy()))
        #expect(try failureResult(of: save(Legacy(error: TestError()))) is TestError)
        let (deferred, resolver) = Deferred<Void>.withResolver()
        #expect(resolver.complete(nil))
        try successResult(of: deferred)
    }

    @Test("A1: a handler that is released without having been called fails the Deferred with .abandoned")
    func neverCalled() throws {
        let deferred = Deferred<Int> { resolver in
            Legacy().forget(completionHandler: resolver.completionHandler())
        }
        #expect(try failureResult(of: deferred) as? DeferredError == .abandoned)
    }

    @Test("F1: a second call is reported with the place of the handler")
    func calledTwice() throws {
        let seen = diagnostics {
            let (deferred, resolver) = Deferred<Int>.withResolver()
            let handler: @Sendable (Int?, (any Error)?) -> Void = resolver.completionHandler()
            handler(1, nil)
            handler(nil, TestError())
            _ = deferred.currentResult
        }
        #expect(seen.count == 1)
        #expect(seen.first?.description.contains("CompletionHandlerTests.swift") == true)
    }
}
