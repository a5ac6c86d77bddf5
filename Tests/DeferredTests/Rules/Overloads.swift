import Deferred
import DeferredTesting
import Testing

extension Rules {
    /// Checks that the expected form of `map`, `then`, `done` and the others is chosen for each closure. The
    /// choice shows in the type, which each line states, and in the outcome.
    @Suite("Public names: overloads") struct Overloads {
        let source = Deferred<Int>.resolved(1)
        let failed = Deferred<Int>.rejected(Boom(1))
        let inner = Deferred<String>.resolved("inner")

        @Test("Names: map, then and done stand for a value, a Deferred and nothing, in one expression")
        func thenInOneExpression() {
            let inner = inner
            let plain = source.map { $0 + 1 }
            expectType(plain, Deferred<Int>.self)
            #expect(outcome(plain) == "2")
            let nested = source.then { _ in inner }
            expectType(nested, Deferred<String>.self)
            #expect(outcome(nested) == "inner")
            let void = source.done { _ in }
            expectType(void, Deferred<Void>.self)
            let log = Log()
            source.done { log("\($0)") }
            #expect(log.all == ["1"])
            let nestedVoid = source.then { _ in Deferred<Int>.rejected(Boom(2)).done { _ in } }
            expectType(nestedVoid, Deferred<Void>.self)
            #expect(outcome(nestedVoid) == "Boom(2)")
            let optional = source.map { Optional($0) }
            expectType(optional, Deferred<Int?>.self)
            let tuple = source.map { ($0, "a") }
            expectType(tuple, Deferred<(Int, String)>.self)
        }

        @Test("Names: retry takes a body that returns a Deferred, asyncRetry an asynchronous one")
        func retry() async throws {
            let inner = inner
            expectType(Deferred.retry { inner }, Deferred<String>.self)
            expectType(Deferred.retry { _ in inner }, Deferred<String>.self)
            expectType(Deferred.retry { .resolved(1) }, Deferred<Int>.self)
            let statements = Deferred.retry { number in
                if number > 1 { throw Boom(2) }
                return inner
            }
            expectType(statements, Deferred<String>.self)
            #expect(outcome(statements) == "inner")
            let chain = Deferred.retry {
                let next = inner
                return next.map { $0.count }
            }
            expectType(chain, Deferred<Int>.self)
            expectType(Deferred<Int>.retry { _ in throw Boom(3) }, Deferred<Int>.self)
            let asynchronous = Deferred.asyncRetry { try await inner.value }
            expectType(asynchronous, Deferred<String>.self)
            #expect(try await asynchronous.value == "inner")
            let numbered = Deferred.asyncRetry { number in
                _ = try await inner.value
                return number
            }
            expectType(numbered, Deferred<Int>.self)
            let void = Deferred.asyncRetry { _ = try await inner.value }
            expectType(void, Deferred<Void>.self)
            _ = try await (numbered.value, void.value)
        }

        @Test("Names: a pair chooses plain, nested or Void, with two closures and with trailing ones")
        func pair() {
            let log = Log()
            let inner = inner
            let plain = source.map({ "\($0)" }, recover: { _ in "e" })
            expectType(plain, Deferred<String>.self)
            let trailing = source.map {
                "\($0)"
            } recover: { _ in
                "e"
            }
            expectType(trailing, Deferred<String>.self)
            let nested = source.then { _ in
                inner
            } orElse: { _ in
                inner
            }
            expectType(nested, Deferred<String>.self)
            #expect(outcome(nested) == "inner")
            source.done {
                log("\($0)")
            } fail: {
                log(name(of: $0))
            }
            source.done(on: InlineDispatcher()) {
                log("on \($0)")
            } fail: {
                log(name(of: $0))
            }
            let rethrown = failed.map {
                $0 + 1
            } recover: {
                throw $0
            }
            expectType(rethrown, Deferred<Int>.self)
            #expect(outcome(rethrown) == "Boom(1)")
            #expect(log.all == ["1", "on 1"])
        }

        @Test("Names: handles are equal by identity, and may be keys")
        func identity() {
            let one = Deferred<Int>()
            let same = one.finally { _ in }
            #expect(one == same)
            #expect(one != Deferred<Int>())
            #expect(one != one.map { $0 })
            #expect(Set([one, same, Deferred<Int>()]).count == 2)
        }

        private func expectType<T>(_ value: T, _ type: T.Type) {}
    }
}
