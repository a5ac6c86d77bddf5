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

        @Test("Names: the same in several statements")
        func thenInStatements() {
            let inner = inner
            let plain = source.map { value in
                let next = value + 1
                return next
            }
            expectType(plain, Deferred<Int>.self)
            let nested = source.then { value in
                if value > 1 { throw Boom(2) }
                return inner
            }
            expectType(nested, Deferred<String>.self)
            #expect(outcome(nested) == "inner")
            let log = Log()
            source.done { value in
                log("a")
                log("b")
            }
            source.done { value in
                if value > 1 { return }
                log("\(value)")
            }
            #expect(log.all == ["a", "b", "1"])
            let void = source.done { value in
                let copy = value
                if copy > 1 { throw Boom(1) }
            }
            expectType(void, Deferred<Void>.self)
        }

        @Test("Names: a chain whose middle returns a Deferred waits for it, whatever is attached after it")
        func nestedInTheMiddle() {
            let log = Log()
            let inner = Deferred<String>()
            source.then { _ in inner }.done { log("then \($0)") }
            _ = source.then { _ in inner }.recover { _ in "recovered" }.done { log("fail \($0)") }
            source.then { _ in inner }.fail { _ in log("not called") }.done { log("void fail") }
            source.then { _ in inner }.fail { log(name(of: $0)) }.done { log("void fail") }
            source.then { _ in inner }.both { log("both \(outcome($0))") }
            source.then { _ in inner }.finally { log("finally \(outcome($0))") }
            source.then { value in
                log("statements")
                return inner
            }.fail { log(name(of: $0)) }.done { log("void fail") }
            source.then { _ in inner }.done({ log("pair \($0)") }, fail: { log(name(of: $0)) })
            source.then { _ in inner.done { log("inner's \($0)") } }.done { log("void") }
            source.then { _ in inner.done { log("inner's \($0)") } }.fail { log(name(of: $0)) }.done {
                log("void")
            }
            #expect(log.all == ["statements"])
            inner.resolve("x")
            #expect(log.all.count == 13)
        }

        @Test("Names: a closure that always throws, or never returns, resolves")
        func throwsAlways() {
            let then: Deferred<Int> = source.map { _ in throw Boom(2) }
            #expect(outcome(then) == "Boom(2)")
            source.done { _ in throw Boom(3) }.fail { _ in }
            let fail = failed.recover { _ in throw Boom(4) }
            expectType(fail, Deferred<Int>.self)
            #expect(outcome(fail) == "Boom(4)")
            let statements = failed.recover { error in
                guard error is Crash else { throw Boom(5) }
                throw error
            }
            expectType(statements, Deferred<Int>.self)
            #expect(outcome(statements) == "Boom(5)")
            let never = source.map { value -> Int in
                guard value == 1 else { fatalError("not here") }
                return value
            }
            #expect(outcome(never) == "1")
        }

        @Test(
            "Names: recover, orElse and fail stand for a value, a Deferred and nothing"
        )
        func fail() {
            let log = Log()
            let plain = failed.recover { _ in 0 }
            expectType(plain, Deferred<Int>.self)
            let other = Deferred.resolved(9)
            let nested = failed.orElse { _ in other }
            expectType(nested, Deferred<Int>.self)
            #expect(outcome(nested) == "9")
            let void = failed.fail { _ in }
            expectType(void, Deferred<Void>.self)
            failed.fail { log(name(of: $0)) }
            // Without a result the plain form would be taken, and its value missed.
            failed.fail { error -> Void in
                log("two")
                log(name(of: error))
            }
            let plainStatements = failed.recover { error in
                log("three")
                return 0
            }
            expectType(plainStatements, Deferred<Int>.self)
            let nestedStatements = failed.orElse { error in
                log("four")
                return other
            }
            expectType(nestedStatements, Deferred<Int>.self)
            #expect(log.all == ["Boom(1)", "two", "Boom(1)", "three", "four"])
            let typed = failed.recover(Boom.self) { $0.id }
            expectType(typed, Deferred<Int>.self)
            #expect(outcome(failed.orElse(Boom.self) { _ in other }) == "9")
            #expect(outcome(failed.recover(Boom.self, on: InlineDispatcher()) { $0.id + 1 }) == "2")
            let trapped = Log()
            let handled = failed.fail(Boom.self) { trapped("\($0.id)") }
            expectType(handled, Deferred<Void>.self)
            #expect(handled.currentResult != nil)
            source.fail(Boom.self) { trapped("never \($0)") }
            #expect(outcome(failed.fail(CancellationError.self) { _ in trapped("never") }) == "Boom(1)")
            let done = failed.done { _ in }
            done.fail(Boom.self) { boom in
                trapped("several")
                trapped("statements \(boom.id)")
            }
            #expect(trapped.all == ["1", "several", "statements 1"])
        }

        @Test(
            "Names: retry takes a body that returns a Deferred, asyncRetry an asynchronous one, with its number or not"
        )
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

        @Test("Names: where the value is Void, fail is discardable and one form")
        func failOfVoid() {
            let log = Log()
            let failed = Deferred<Void>.rejected(Boom(1))
            failed.fail { log(name(of: $0)) }
            failed.fail { error in
                log("two")
                log(name(of: error))
            }
            failed.fail { _ in }
            let void = failed.fail { _ in }
            expectType(void, Deferred<Void>.self)
            let inner = Deferred<Void>()
            let nested = failed.orElse { _ in inner }
            #expect(outcome(nested) == "pending")
            inner.resolve()
            #expect(outcome(nested) == "()")
            #expect(log.all == ["Boom(1)", "two", "Boom(1)"])
        }

        @Test("Names: both chooses plain, nested or Void")
        func both() {
            let log = Log()
            let inner = inner
            let plain = source.mapResult { outcome($0) }
            expectType(plain, Deferred<String>.self)
            let nested = source.thenResult { _ in inner }
            expectType(nested, Deferred<String>.self)
            #expect(outcome(nested) == "inner")
            source.both { log(outcome($0)) }
            source.both { result in
                log("two")
                log(outcome(result))
            }
            let rethrown = failed.mapResult { try $0.get() }
            expectType(rethrown, Deferred<Int>.self)
            #expect(outcome(rethrown) == "Boom(1)")
            #expect(log.all == ["1", "two", "1"])
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

        @Test("Names: on: takes any dispatcher, none, or a queue by its short name")
        func dispatchers() {
            let log = Log()
            let some: (any Dispatcher)? = nil
            source.done(on: some) { log("\($0)") }
            source.done(on: nil) { log("\($0)") }
            source.done(on: InlineDispatcher()) { log("\($0)") }
            #expect(log.all == ["1", "1", "1"])
            let queued = source.map(on: .global()) { $0 + 1 }
            let failedOnQueue = failed.recover(on: .global(qos: .utility)) { _ in 0 }
            let bothOnMain = Deferred<Int>().mapResult(on: .main) { outcome($0) }
            expectType(queued, Deferred<Int>.self)
            expectType(failedOnQueue, Deferred<Int>.self)
            expectType(bothOnMain, Deferred<String>.self)
            source.finally(on: .global()) { _ in }
        }

        @Test(
            "Names: a trailing closure creates a Deferred with a resolver; a canceller needs its label"
        )
        func makers() {
            let log = Log()
            let body = Deferred<Int> { resolver in resolver.resolve(1) }
            #expect(outcome(body) == "1")
            let inferred: Deferred<Int> = Deferred { resolver in
                log("body")
                resolver.resolve(2)
            }
            #expect(outcome(inferred) == "2")
            let canceller = Deferred<Int>(canceller: { resolver in log("canceller \(resolver.isCancelled)") })
            #expect(outcome(canceller) == "pending")
            canceller.cancel()
            let (paired, resolver) = Deferred<Int>.withResolver { _ in log("paired") }
            paired.cancel()
            #expect(log.all == ["body", "canceller true", "paired"])
            keep(resolver)
            let caught = Deferred(catching: { 1 })
            expectType(caught, Deferred<Int>.self)
            let other = Deferred.resolved("x")
            let maybe = Deferred(following: { other })
            expectType(maybe, Deferred<String>.self)
            #expect(maybe == other)
            @Sendable func refused() throws -> Deferred<String> { throw Boom(1) }
            let refusal = Deferred(following: refused)
            expectType(refusal, Deferred<String>.self)
            #expect(outcome(refusal) == "Boom(1)")
            let statements = Deferred(following: {
                log("statements")
                return other
            })
            expectType(statements, Deferred<String>.self)
            let always = Deferred<Int>(catching: { throw Boom(2) })
            #expect(outcome(always) == "Boom(2)")
        }

        @Test("Names: a Deferred<Void> is fired without a value, and made with a body")
        func void() {
            let deferred = Deferred<Void>()
            deferred.resolve()
            #expect(outcome(deferred) == "()")
            #expect(outcome(Deferred<Void>.resolved()) == "()")
            #expect(outcome(Deferred<Void> { $0.resolve() }) == "()")
            let log = Log()
            Deferred<Void>.resolved().done { log("ran") }
            #expect(log.all == ["ran"])
        }

        @Test("Names: the Void forms, finally, resolve, reject and complete are discardable")
        func discardable() {
            let log = Log()
            let deferred = Deferred<Int>()
            deferred.done { log("\($0)") }
            deferred.fail { log(name(of: $0)) }
            deferred.both { log(outcome($0)) }
            deferred.finally { log(outcome($0)) }
            deferred.resolve(1)
            Deferred<Int>().resolve(1)
            Deferred<Int>().reject(CancellationError())
            Deferred<Int>().complete(with: .success(1))
            #expect(log.all == ["1", "1", "1"])
        }

        @Test("Names: from generic code each form resolves as its types say")
        func generic() {
            func twice<T>(_ deferred: Deferred<T>, _ combine: @escaping @Sendable (T, T) -> T) -> Deferred<T>
            {
                deferred.map { combine($0, $0) }
            }
            func mapped<T, U: Sendable>(
                _ deferred: Deferred<T>, _ transform: @escaping @Sendable (T) throws -> U
            ) -> Deferred<U> {
                deferred.map(transform)
            }
            func flat<T, U>(
                _ deferred: Deferred<T>, _ transform: @escaping @Sendable (T) throws -> Deferred<U>
            ) -> Deferred<U> {
                deferred.then(transform)
            }
            func recovered<T>(_ deferred: Deferred<T>, _ value: T) -> Deferred<T> {
                deferred.recover { _ in value }
            }
            func observed<T>(_ deferred: Deferred<T>, _ log: Log) {
                deferred.done { log("\($0)") }
                deferred.fail { log(name(of: $0)) }
                deferred.both { log(outcome($0)) }
            }
            func made<T>(_ body: () throws -> T) -> Deferred<T> { Deferred(catching: body) }
            let log = Log()
            #expect(outcome(twice(source, +)) == "2")
            #expect(outcome(mapped(source) { "\($0)" }) == "1")
            let inner = inner
            #expect(outcome(flat(source) { _ in inner }) == "inner")
            #expect(outcome(recovered(failed, 3)) == "3")
            observed(source, log)
            observed(failed, log)
            #expect(log.all == ["1", "1", "Boom(1)", "Boom(1)"])
            #expect(outcome(made { 4 }) == "4")
            // In generic code the type parameter decides: a Deferred as a plain value stays one.
            #expect(outcome(mapped(source) { _ in inner }.then { $0 }) == "inner")
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
