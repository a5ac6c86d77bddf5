import Deferred
import Foundation
import Testing

extension Rules {
    @Suite("Rules C1, C2: cancelling a source") struct CancellingSources {
        @Test("C1: cancelling a pending source runs its canceller once, on the cancelling thread")
        func runsCanceller() {
            let log = Log()
            let thread = Box<Thread?>(nil)
            let deferred = Deferred<Int>(canceller: { _ in
                thread.value = .current
                log("canceller")
            })
            onThread {
                deferred.cancel()
                #expect(thread.value === Thread.current)
            }
            deferred.cancel()
            #expect(log.all == ["canceller"])
            #expect(outcome(deferred) == "cancelled")
        }

        @Test("C1: every kind of source has its canceller run")
        func everyKindOfSource() {
            let log = Log()
            let labelled = Deferred<Int>(canceller: { _ in log("labelled") })
            let (paired, resolver) = Deferred<Int>.withResolver(canceller: { _ in log("paired") })
            labelled.cancel()
            paired.cancel()
            let (bare, bareResolver) = Deferred<Int>.withResolver()
            bare.cancel()
            let plain = Deferred<Int>()
            plain.cancel()
            let kept = Box<Resolver<Int>?>(nil)
            let body = Deferred<Int> { kept.value = $0 }
            body.cancel()
            #expect(log.all == ["labelled", "paired"])
            #expect(
                [labelled, paired, bare, plain, body].map(outcome) == Array(repeating: "cancelled", count: 5))
            keep(resolver, bareResolver)
        }

        @Test("C1: a canceller that fires a value, or an error of its own, decides the outcome")
        func cancellerFires() {
            let value = Deferred<Int>(canceller: { resolver in #expect(resolver.resolve(7)) })
            value.cancel()
            #expect(outcome(value) == "7")
            let error = Deferred<Int>(canceller: { resolver in #expect(resolver.reject(Boom(7))) })
            error.cancel()
            #expect(outcome(error) == "Boom(7)")
            let fired = Deferred<Int>(canceller: { _ = $0.complete(with: .success(8)) })
            let next = fired.map { $0 + 1 }
            next.cancel()
            #expect(outcome(next) == "9")
        }

        @Test("C1: the producer's outcome while the canceller runs counts")
        func producerFiresMeanwhile() {
            let source = Box<Deferred<Int>?>(nil)
            source.value = Deferred<Int>(canceller: { _ in #expect(source.value!.resolve(3)) })
            source.value!.cancel()
            #expect(outcome(source.value!) == "3")
            source.value = nil
        }

        @Test("C1: errbacks may handle a cancellation like any other error; callbacks do not run")
        func errbackHandles() {
            let log = Log()
            let deferred = Deferred<Int>()
            deferred.map {
                log("callback \($0)"); return $0
            }
            .recover { error -> Int in
                log(name(of: error))
                return 4
            }
            .done { log("\($0)") }
            let typed = deferred.recover(CancellationError.self) { _ in 5 }
            deferred.cancel()
            #expect(log.all == ["cancelled", "4"])
            #expect(outcome(typed) == "5")
        }

        @Test("C1: cancelling again from inside does nothing: from the canceller, an errback, a consumer")
        func cancelsAgainInside() {
            let log = Log()
            let own = Box<Deferred<Int>?>(nil)
            let next = Box<Deferred<Int>?>(nil)
            own.value = Deferred<Int>(canceller: { resolver in
                log("canceller \(resolver.isCancelled)")
                own.value!.cancel()
                next.value!.cancel()
                log("cancelled again")
            })
            own.value!.recover {
                log(name(of: $0)); own.value!.cancel(); return 0
            }.done { log("\($0)") }
            next.value = own.value!.map { $0 }
            own.value!.cancel()
            #expect(log.all.prefix(2) == ["canceller true", "cancelled again"])
            #expect(Array(log.all.dropFirst(2)) == ["cancelled", "0"])
            #expect(outcome(next.value!) == "cancelled")
            own.value = nil
            next.value = nil
        }

        @Test("C1: the canceller of a source that has fired is not run")
        func firedNotCancelled() {
            let log = Log()
            let deferred = Deferred<Int>(canceller: { _ in log("canceller") })
            deferred.resolve(1)
            deferred.cancel()
            #expect(log.all.isEmpty)
            #expect(outcome(deferred) == "1")
        }

        @Test("C1: of threads that cancel and fire at once, one decides; the canceller runs at most once")
        func cancelRace() {
            for _ in 0..<200 {
                let log = Log()
                let told = Log()
                let deferred = Deferred<Int>(canceller: { _ in log("canceller") })
                deferred.both { told(outcome($0)) }
                let answer = Box<Bool?>(nil)
                let found = Box(0)
                onThreads(3) { index in
                    let reports = reports {
                        if index == 0 { answer.value = deferred.resolve(1) } else { deferred.cancel() }
                    }
                    found.change { $0 += reports.count }
                }
                #expect(log.all.count <= 1)
                #expect(told.all == [answer.value == true ? "1" : "cancelled"])
                #expect(found.value == 0)
            }
        }

        @Test(
            "C2: after a cancel without a canceller the first late result returns false without a report; a second is F1's"
        )
        func lateResult() {
            for isRejected in [false, true] {
                let deferred = Deferred<Int>()
                deferred.fail { _ in }
                deferred.cancel()
                let first = reports { #expect(!(isRejected ? deferred.reject(Boom()) : deferred.resolve(1))) }
                #expect(first.isEmpty)
                let second = reports { #expect(!deferred.resolve(2)) }
                #expect(second.count == 1)
                guard case .alreadyFired? = second.first else {
                    Issue.record("not F1's: \(second)")
                    continue
                }
                #expect(outcome(deferred) == "cancelled")
            }
        }

        @Test("C2: the same after a cancel with a canceller, whether or not that fired it")
        func lateResultWithCanceller() {
            for fires in [false, true] {
                let (deferred, resolver) = Deferred<Int>.withResolver(canceller: {
                    if fires { $0.resolve(5) }
                })
                deferred.cancel()
                let first = reports { #expect(!resolver.resolve(1)) }
                #expect(first.isEmpty)
                let second = reports { #expect(!resolver.reject(Boom())) }
                #expect(second.count == 1)
                #expect(outcome(deferred) == (fires ? "5" : "cancelled"))
            }
        }

        @Test("C2: the same when the cancel came from further down the chain")
        func lateResultAfterCancelFromBelow() {
            let source = Deferred<Int>()
            let last = source.map { $0 }.map { $0 }
            last.cancel()
            let first = reports { #expect(!source.resolve(1)) }
            #expect(first.isEmpty)
            let second = reports { #expect(!source.resolve(1)) }
            #expect(second.count == 1)
        }

        @Test("C2: a source that others still consume is not cancelled, and its result is no late one")
        func notLate() {
            let (source, resolver) = Deferred<Int>.withResolver()
            let one = source.map { $0 }
            let other = source.map { $0 }
            one.cancel()
            #expect(!resolver.isCancelled)
            #expect(resolver.resolve(1))
            #expect(reports { resolver.resolve(2) }.count == 1)
            #expect(outcome(other) == "1")
        }

        @Test(
            "C2: a Resolver says isCancelled, in the canceller already, and not when it was fired before the cancel"
        )
        func isCancelled() {
            let seen = Box<Bool?>(nil)
            let (deferred, resolver) = Deferred<Int>.withResolver(canceller: { seen.value = $0.isCancelled })
            #expect(!resolver.isCancelled)
            deferred.cancel()
            #expect(seen.value == true)
            #expect(resolver.isCancelled)

            let (fired, firedResolver) = Deferred<Int>.withResolver()
            firedResolver.resolve(1)
            fired.cancel()
            #expect(!firedResolver.isCancelled)

            let (chained, chainedResolver) = Deferred<Int>.withResolver()
            let last = chained.map { $0 }
            last.cancel()
            #expect(chainedResolver.isCancelled)
        }

        @Test("C1: a value from the canceller itself counts, and the chain continues with it")
        func cancellerFiresValue() {
            let source = Deferred<Int>(canceller: { $0.resolve(1) })
            let (inner, resolver) = Deferred<Int>.withResolver()
            let end = source.then { _ in inner }
            end.cancel()
            #expect(!resolver.isCancelled)
            resolver.resolve(2)
            #expect(outcome(end) == "2")
        }

        @Test("C5: another thread completes it while its canceller runs: the consumer ends with the cancel")
        func overtakenCanceller() {
            let own = Box<Resolver<Int>?>(nil)
            let (source, outer) = Deferred<Int>.withResolver { _ in onThread { own.value?.resolve(1) } }
            own.value = outer
            let log = Log()
            let end = source.map { log("runs with \($0)") }
            end.cancel()
            #expect(outcome(source) == "1")
            #expect(log.all.isEmpty)
            #expect(outcome(end) == "cancelled")
        }
    }
}
