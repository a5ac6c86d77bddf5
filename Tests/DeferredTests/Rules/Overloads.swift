import Deferred
import Testing

extension Rules {
    /// That each form of `then`, `fail`, `both` and the rest is the one that is chosen for the closure it is
    /// for. What is chosen shows in the type, which each line states, and in the outcome.
    @Suite("Public names: overloads") struct Overloads {
        let source = Deferred<Int>.resolved(1)
        let failed = Deferred<Int>.rejected(Boom(1))
        let inner = Deferred<String>.resolved("inner")

        @Test("Names: then chooses plain, nested or Void by what its closure gives, in one expression")
        func thenInOneExpression() {
            let inner = inner
            let plain = source.then { $0 + 1 }
            expectType(plain, Deferred<Int>.self)
            #expect(outcome(plain) == "2")
            let nested = source.then { _ in inner }
            expectType(nested, Deferred<String>.self)
            #expect(outcome(nested) == "inner")
            let void = source.then { _ in }
            expectType(void, Deferred<Void>.self)
            let log = Log()
            source.then { log("\($0)") }
            #expect(log.entries == ["1"])
            let nestedVoid = source.then { _ in Deferred<Int>.rejected(Boom(2)).then { _ in } }
            expectType(nestedVoid, Deferred<Void>.self)
            #expect(outcome(nestedVoid) == "Boom(2)")
            let optional = source.then { Optional($0) }
            expectType(optional, Deferred<Int?>.self)
            let tuple = source.then { ($0, "a") }
            expectType(tuple, Deferred<(Int, String)>.self)
        }

        @Test("Names: the same in several statements")
        func thenInStatements() {
            let inner = inner
            let plain = source.then { value in
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
            source.then { value in
                log("a")
                log("b")
            }
            source.then { value in
                if value > 1 { return }
                log("\(value)")
            }
            #expect(log.entries == ["a", "b", "1"])
            let void = source.then { value in
                let copy = value
                if copy > 1 { throw Boom(1) }
            }
            expectType(void, Deferred<Void>.self)
        }

        @Test("Names: a chain whose middle gives a Deferred waits for it, whatever comes after")
        func nestedInTheMiddle() {
            let log = Log()
            let inner = Deferred<String>()
            source.then { _ in inner }.then { log("then \($0)") }
            _ = source.then { _ in inner }.fail { _ in "recovered" }.then { log("fail \($0)") }
            source.then { _ in inner }.fail { _ in log("not called") }.then { log("void fail") }
            source.then { _ in inner }.fail { log(name(of: $0)) }.then { log("void fail") }
            source.then { _ in inner }.both { log("both \(outcome($0))") }
            source.then { _ in inner }.finally { log("finally \(outcome($0))") }
            source.then { value in
                log("statements")
                return inner
            }.fail { log(name(of: $0)) }.then { log("void fail") }
            source.then { _ in inner }.then({ log("pair \($0)") }, fail: { log(name(of: $0)) })
            source.then { _ in inner.then { log("inner's \($0)") } }.then { log("void") }
            source.then { _ in inner.then { log("inner's \($0)") } }.fail { log(name(of: $0)) }.then {
                log("void")
            }
            #expect(log.entries == ["statements"])
            inner.resolve("x")
            #expect(log.entries.count == 13)
        }

        @Test("Names: a closure that always throws, or never returns, resolves")
        func throwsAlways() {
            let then: Deferred<Int> = source.then { _ in throw Boom(2) }
            #expect(outcome(then) == "Boom(2)")
            source.then { _ in throw Boom(3) }.fail { _ in }
            let fail = failed.fail { _ in throw Boom(4) }
            expectType(fail, Deferred<Int>.self)
            #expect(outcome(fail) == "Boom(4)")
            let statements = failed.fail { error in
                guard error is Crash else { throw Boom(5) }
                throw error
            }
            expectType(statements, Deferred<Int>.self)
            #expect(outcome(statements) == "Boom(5)")
            let never = source.then { value -> Int in
                guard value == 1 else { fatalError("not here") }
                return value
            }
            #expect(outcome(never) == "1")
        }

        @Test(
            "Names: fail chooses plain, nested or Void by what its closure gives; of these plain is preferred"
        )
        func fail() {
            let log = Log()
            let plain = failed.fail { _ in 0 }
            expectType(plain, Deferred<Int>.self)
            let other = Deferred.resolved(9)
            let nested = failed.fail { _ in other }
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
            let plainStatements = failed.fail { error in
                log("three")
                return 0
            }
            expectType(plainStatements, Deferred<Int>.self)
            let nestedStatements = failed.fail { error in
                log("four")
                return other
            }
            expectType(nestedStatements, Deferred<Int>.self)
            #expect(log.entries == ["Boom(1)", "two", "Boom(1)", "three", "four"])
            let typed = failed.fail(Boom.self) { $0.id }
            expectType(typed, Deferred<Int>.self)
            #expect(outcome(failed.fail(Boom.self) { _ in other }) == "9")
            #expect(outcome(failed.fail(Boom.self, on: InlineDispatcher()) { $0.id + 1 }) == "2")
            let trapped = Log()
            let handled = failed.fail(Boom.self) { trapped("\($0.id)") }
            expectType(handled, Deferred<Void>.self)
            #expect(handled.currentResult != nil)
            source.fail(Boom.self) { trapped("never \($0)") }
            #expect(outcome(failed.fail(CancellationError.self) { _ in trapped("never") }) == "Boom(1)")
            let done = failed.then { _ in }
            done.fail(Boom.self) { boom in
                trapped("several")
                trapped("statements \(boom.id)")
            }
            #expect(trapped.entries == ["1", "several", "statements 1"])
        }

        @Test(
            "Names: retry takes a body that gives a Deferred, or an asynchronous one, with its number or not")
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
                return next.then { $0.count }
            }
            expectType(chain, Deferred<Int>.self)
            expectType(Deferred<Int>.retry { _ in throw Boom(3) }, Deferred<Int>.self)
            let asynchronous = Deferred.retry { try await inner.value }
            expectType(asynchronous, Deferred<String>.self)
            #expect(try await asynchronous.value == "inner")
            let numbered = Deferred.retry { number in
                _ = try await inner.value
                return number
            }
            expectType(numbered, Deferred<Int>.self)
            let void = Deferred.retry { _ = try await inner.value }
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
            let nested = failed.fail { _ in inner }
            #expect(outcome(nested) == "pending")
            inner.resolve()
            #expect(outcome(nested) == "()")
            #expect(log.entries == ["Boom(1)", "two", "Boom(1)"])
        }

        @Test("Names: both chooses plain, nested or Void")
        func both() {
            let log = Log()
            let inner = inner
            let plain = source.both { outcome($0) }
            expectType(plain, Deferred<String>.self)
            let nested = source.both { _ in inner }
            expectType(nested, Deferred<String>.self)
            #expect(outcome(nested) == "inner")
            source.both { log(outcome($0)) }
            source.both { result in
                log("two")
                log(outcome(result))
            }
            let rethrown = failed.both { try $0.get() }
            expectType(rethrown, Deferred<Int>.self)
            #expect(outcome(rethrown) == "Boom(1)")
            #expect(log.entries == ["1", "two", "1"])
        }

        @Test("Names: a pair chooses plain, nested or Void, with two closures and with trailing ones")
        func pair() {
            let log = Log()
            let inner = inner
            let plain = source.then({ "\($0)" }, fail: { _ in "e" })
            expectType(plain, Deferred<String>.self)
            let trailing = source.then {
                "\($0)"
            } fail: { _ in
                "e"
            }
            expectType(trailing, Deferred<String>.self)
            let nested = source.then { _ in
                inner
            } fail: { _ in
                inner
            }
            expectType(nested, Deferred<String>.self)
            #expect(outcome(nested) == "inner")
            source.then {
                log("\($0)")
            } fail: {
                log(name(of: $0))
            }
            source.then(on: InlineDispatcher()) {
                log("on \($0)")
            } fail: {
                log(name(of: $0))
            }
            let rethrown = failed.then {
                $0 + 1
            } fail: {
                throw $0
            }
            expectType(rethrown, Deferred<Int>.self)
            #expect(outcome(rethrown) == "Boom(1)")
            #expect(log.entries == ["1", "on 1"])
        }

        @Test("Names: on: takes any dispatcher, none, or a queue by its short name")
        func dispatchers() {
            let log = Log()
            let some: (any Dispatcher)? = nil
            source.then(on: some) { log("\($0)") }
            source.then(on: nil) { log("\($0)") }
            source.then(on: InlineDispatcher()) { log("\($0)") }
            #expect(log.entries == ["1", "1", "1"])
            let queued = source.then(on: .global()) { $0 + 1 }
            let failedOnQueue = failed.fail(on: .global(qos: .utility)) { _ in 0 }
            let bothOnMain = Deferred<Int>().both(on: .main) { outcome($0) }
            expectType(queued, Deferred<Int>.self)
            expectType(failedOnQueue, Deferred<Int>.self)
            expectType(bothOnMain, Deferred<String>.self)
            source.finally(on: .global()) { _ in }
        }

        @Test(
            "Names: a trailing closure makes a Deferred with a resolver; the canceller goes by its label only"
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
            #expect(log.entries == ["body", "canceller true", "paired"])
            keep(resolver)
            let caught = Deferred(catching: { 1 })
            expectType(caught, Deferred<Int>.self)
            let other = Deferred.resolved("x")
            let maybe = Deferred(catching: { other })
            expectType(maybe, Deferred<String>.self)
            #expect(maybe == other)
            @Sendable func refused() throws -> Deferred<String> { throw Boom(1) }
            let refusal = Deferred(catching: refused)
            expectType(refusal, Deferred<String>.self)
            #expect(outcome(refusal) == "Boom(1)")
            let statements = Deferred(catching: {
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
            Deferred<Void>.resolved().then { log("ran") }
            #expect(log.entries == ["ran"])
        }

        @Test("Names: the Void forms, finally, resolve, reject and complete are discardable")
        func discardable() {
            let log = Log()
            let deferred = Deferred<Int>()
            deferred.then { log("\($0)") }
            deferred.fail { log(name(of: $0)) }
            deferred.both { log(outcome($0)) }
            deferred.finally { log(outcome($0)) }
            deferred.resolve(1)
            Deferred<Int>().resolve(1)
            Deferred<Int>().reject(CancellationError())
            Deferred<Int>().complete(with: .success(1))
            #expect(log.entries == ["1", "1", "1"])
        }

        @Test("Names: from generic code each form resolves as its types say")
        func generic() {
            func twice<T>(_ deferred: Deferred<T>, _ combine: @escaping @Sendable (T, T) -> T) -> Deferred<T>
            {
                deferred.then { combine($0, $0) }
            }
            func mapped<T, U: Sendable>(
                _ deferred: Deferred<T>, _ transform: @escaping @Sendable (T) throws -> U
            ) -> Deferred<U> {
                deferred.then(transform)
            }
            func flat<T, U>(
                _ deferred: Deferred<T>, _ transform: @escaping @Sendable (T) throws -> Deferred<U>
            ) -> Deferred<U> {
                deferred.then(transform)
            }
            func recovered<T>(_ deferred: Deferred<T>, _ value: T) -> Deferred<T> {
                deferred.fail { _ in value }
            }
            func observed<T>(_ deferred: Deferred<T>, _ log: Log) {
                deferred.then { log("\($0)") }
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
            #expect(log.entries == ["1", "1", "Boom(1)", "Boom(1)"])
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
            #expect(one != one.then { $0 })
            #expect(Set([one, same, Deferred<Int>()]).count == 2)
        }

        private func expectType<T>(_ value: T, _ type: T.Type) {}
    }
}
