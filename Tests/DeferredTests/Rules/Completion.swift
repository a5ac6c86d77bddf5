import Deferred
import Foundation
import Testing

extension Rules {
    @Suite("Rules F1, F2: completion") struct Completion {
        @Test("F1: the first result counts; a later one returns false, changes nothing, and is reported")
        func completesOnce() {
            let ways: [(complete: (Deferred<Int>) -> Bool, outcome: String)] = [
                ({ $0.resolve(1) }, "1"), ({ $0.reject(Boom(2)) }, "Boom(2)"),
                ({ $0.complete(with: .success(3)) }, "3"),
                ({ $0.complete(with: .failure(Boom(4))) }, "Boom(4)"),
            ]
            for (first, later) in ways.flatMap({ first in ways.map { (first, $0) } }) {
                let (log, deferred) = (Log(), Deferred<Int>())
                deferred.both { log(outcome($0)) }
                #expect(first.complete(deferred))
                let found = reports { #expect(!later.complete(deferred)) }
                #expect(found.count == 1)
                #expect(log.all + [outcome(deferred)] == [first.outcome, first.outcome])
            }
        }

        @Test("F1: a later result is reported, with where both came from and where the Deferred was made")
        func alreadySettled() {
            let made = #line + 1
            let deferred = Deferred<Int>()
            deferred.resolve(1)
            let found = reports { deferred.reject(Boom()) }
            #expect(found.map(words) == ["\(made) completed at \(made + 1), again at \(made + 2)"])
        }

        @Test("F1: a Deferred that cannot be completed explicitly returns false, unchanged and reported")
        func notCompletable() throws {
            let source = Deferred<Int>()
            let (withResolver, resolver) = Deferred<Int>.withResolver()
            let kept = Box<Deferred<Int>.Resolver?>(nil)
            let fromBody = Deferred<Int> { kept.value = $0 }
            let others: [Deferred<Int>] = [
                source.map { $0 }, source.recover { _ in 0 }, source.mapResult { try $0.get() },
                source.shielded(),
                source.thenReturn(1), withResolver, fromBody,
            ]
            for other in others {
                let made = reports {
                    #expect(!other.resolve(9))
                    #expect(!other.reject(Boom()))
                    #expect(!other.complete(with: .success(9)))
                    other.follow(.resolved(9))
                }
                #expect(made.count { words($0).contains("not completable") } == 4)
                #expect(outcome(other) == "pending")
            }
            for settled in [Deferred.resolved(1), Deferred(catching: { 1 })] {
                let found = reports { #expect(!settled.resolve(2)) }
                #expect(found.map(words) == ["\(#line - 2) not completable at \(#line - 1)"])
                #expect(outcome(settled) == "1")
            }
            source.resolve(0)
            resolver.resolve(0)
            kept.value?.resolve(0)
        }

        @Test("F1: each initializer of Deferred produces the outcome it promises")
        func makers() {
            #expect(outcome(Deferred<Int>()) == "pending")
            #expect(outcome(Deferred.resolved(1)) == "1")
            #expect(outcome(Deferred<Int>.rejected(Boom(1))) == "Boom(1)")
            #expect(outcome(Deferred(catching: { 1 })) == "1")
            #expect(outcome(Deferred<Int>(catching: { throw Boom(1) })) == "Boom(1)")
            #expect(outcome(Deferred<Int> { $0.resolve(1) }) == "1")
            #expect(outcome(Deferred<Int> { _ in throw Boom(1) }) == "Boom(1)")
            #expect(outcome(Deferred<Int>.resolved(1).thenReturn("a")) == "a")
            let inner = Deferred<Int>()
            #expect(Deferred(following: { inner }) == inner)
            func refused() throws -> Deferred<Int> { throw Boom(1) }
            #expect(outcome(Deferred(following: refused)) == "Boom(1)")
        }

        @Test("Names: handles are equal by identity, and may be keys")
        func identity() {
            let one = Deferred<Int>()
            let same = one.finally { _ in }
            #expect(one == same && one != Deferred<Int>() && one != one.map { $0 })
            #expect(Set([one, same, Deferred<Int>()]).count == 2)
        }

        @Test("F2: callbacks run before resolve returns, on the completing thread")
        func runsBeforeResolveReturns() {
            let deferred = Deferred<Int>()
            let log = Log()
            let thread = Box<Thread?>(nil)
            deferred.done {
                thread.value = Thread.current
                log("callback \($0)")
            }.done { log("further down") }
            onThread {
                deferred.resolve(1)
                log("resolve returned")
                #expect(thread.value === Thread.current)
            }
            #expect(log.all == ["callback 1", "further down", "resolve returned"])
        }

        @Test("F1: a Resolver says whether its Deferred is settled, whatever settled it")
        func resolverIsSettled() {
            let ends: [(Deferred<Int>, Deferred<Int>.Resolver) -> Void] = [
                { $1.resolve(1) }, { $1.reject(Boom(1)) }, { deferred, _ in deferred.cancel() },
                { $1.follow(.resolved(2)) },
            ]
            for end in ends {
                let (deferred, resolver) = Deferred<Int>.withResolver()
                deferred.pause()
                #expect(!resolver.isSettled)
                end(deferred, resolver)
                #expect(resolver.isSettled)
                deferred.fail { _ in }
            }
            // The canceller's own.
            let log = Log()
            let source = Deferred<Int>(canceller: { resolver in
                log("\(resolver.isSettled)")
                resolver.resolve(1)
                log("\(resolver.isSettled)")
            })
            source.cancel()
            #expect(log.all == ["false", "true"])
        }

        @Test("F1: a publisher's value, then finished: one result, and no report")
        func valueThenFinished() {
            let sends: [(Deferred<Int>.Resolver) -> Void] = [
                { receive([1], $0) }, { receive([1, 2], $0) }, { receive([], $0) },
            ]
            let log = Log()
            let reports = reports {
                for send in sends {
                    let (deferred, resolver) = Deferred<Int>.withResolver()
                    send(resolver)
                    log(outcome(deferred))
                }
            }
            #expect(log.all == ["1", "1", "empty"])
            #expect(reports.isEmpty)
        }

        /// As the closures of `sink` in the article about callbacks.
        private func receive(_ values: [Int], _ resolver: Deferred<Int>.Resolver) {
            for value in values where !resolver.isSettled { resolver.resolve(value) }
            if !resolver.isSettled { resolver.reject(DeferredError.empty) }
        }
    }
}
