import Deferred
import TestSupport
import Testing

/// HLDeferred's own tests of its deferred. Where the contract differs, the test states it.
@Suite("What HLDeferred's deferred did")
struct HLDeferredTests {
    @Test("A1: one that is made and dropped leaves nothing behind, and nothing to report")
    func madeAndDropped() {
        let reports = SharedLog<String>()
        DeferredDiagnostics.withHandler({ reports.add("\($0)") }) {
            let deferred = Deferred<String>()
            #expect(deferred.currentResult == nil)
        }
        #expect(reports.all == [])
    }

    @Test("F2: a callback is given the result")
    func oneCallback() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>()
        let end = deferred.map { value in
            notes.add(value)
            return value
        }
        #expect(deferred.resolve("success"))
        #expect(notes.all == ["success"])
        #expect(end.currentSuccess == "success")
    }

    @Test("L3: each of several callbacks is given what the last one returned")
    func multipleCallbacks() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>()
        let end =
            deferred
            .map { notes.add($0, andReturn: "first") }
            .map { notes.add($0, andReturn: "second") }
            .map { notes.add($0, andReturn: "third") }
            .recover { error -> String in notes.add("\(error)", andReturn: "failed") }
        #expect(deferred.resolve("starting"))
        #expect(notes.all == ["starting", "first", "second"])
        #expect(end.currentSuccess == "third")
    }

    @Test("F2: an errback is given the error")
    func oneErrback() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>()
        deferred.fail { error -> Void in notes.add("\(error)") }
        #expect(deferred.reject(Flaw.flaw("success")))
        #expect(notes.all == [#"flaw("success")"#])
    }

    @Test("L1: an error that each errback throws on is given to all of them, and to no callback")
    func multipleErrbacks() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>()
        var end = deferred
        for number in 1...3 {
            end = end.recover { error -> String in
                notes.add("\(number) \(error)")
                throw error
            }
        }
        end = end.map { notes.add($0, andReturn: $0) }
        #expect(deferred.reject(Flaw.flaw("starting")))
        #expect(notes.all == [#"1 flaw("starting")"#, #"2 flaw("starting")"#, #"3 flaw("starting")"#])
        #expect(end.currentFailure as? Flaw == .flaw("starting"))
    }

    @Test("L2: pairs switch between their callbacks and errbacks as each throws or returns")
    func switchingBetweenCallbacksAndErrbacks() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>()
        let end =
            deferred
            .map { value -> String in
                notes.add("1 \(value)")
                throw Flaw.flaw("ok")
            } recover: { _ in
                notes.add("1 fail", andReturn: "")
            }
            .map { value in
                notes.add("2 \(value)", andReturn: value)
            } recover: { error in
                notes.add("2 fail \(error)", andReturn: "ok")
            }
            .map { value in
                notes.add("3 \(value)", andReturn: value)
            } recover: { _ in
                notes.add("3 fail", andReturn: "")
            }
        #expect(deferred.resolve("starting"))
        #expect(notes.all == ["1 starting", #"2 fail flaw("ok")"#, "3 ok"])
        #expect(end.currentSuccess == "ok")
    }

    @Test("L3: what a callback throws is given to the errback below it")
    func raisingInCallbacks() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>()
        let end =
            deferred
            .map { _ -> String in throw Flaw.flaw("thrown") }
            .recover { error -> String in
                notes.add("\(error)")
                throw error
            }
            .map { notes.add($0, andReturn: $0) }
        #expect(deferred.resolve("starting"))
        #expect(notes.all == [#"flaw("thrown")"#])
        #expect(end.currentFailure as? Flaw == .flaw("thrown"))
    }

    @Test("L4: a chain whose callback returns a Deferred waits for that one, and takes its value")
    func pausing() {
        let notes = SharedLog<String>()
        let outer = Deferred<String>()
        let inner = Deferred<String>()
        let innerEnd =
            inner
            .map { notes.add("inner 1 \($0)", andReturn: "ok") }
            .map { notes.add("inner 2 \($0)", andReturn: "inner-second") }
        let outerEnd =
            outer
            .then { value -> Deferred<String> in
                notes.add("outer 1 \(value)")
                return innerEnd
            }
            .map { notes.add("outer 2 \($0)", andReturn: "outer-second") }
        #expect(notes.all == [])

        #expect(outer.resolve("starting"))
        #expect(notes.all == ["outer 1 starting"])

        #expect(inner.resolve("starting"))
        #expect(notes.all == ["outer 1 starting", "inner 1 starting", "inner 2 ok", "outer 2 inner-second"])

        // What the chain waited for keeps its value for others, as HLDeferred's did and Twisted's does not.
        outerEnd.done { notes.add("outer 3 \($0)") }
        innerEnd.done { notes.add("inner 3 \($0)") }
        #expect(notes.all.suffix(2) == ["outer 3 outer-second", "inner 3 inner-second"])
    }

    @Test("L4: chain(to:) and follow hand a result on to another Deferred, and leave it to those who had it")
    func notifying() {
        let notes = SharedLog<String>()
        let first = Deferred<String>()
        let (second, resolver) = Deferred<String>.withResolver()
        let firstEnd = first.map { notes.add("first \($0)", andReturn: "first-result") }
        firstEnd.chain(to: resolver)
        let secondEnd = second.map { notes.add("second \($0)", andReturn: "second-result") }
        firstEnd.done { notes.add("first again \($0)") }

        #expect(first.resolve("starting"))
        #expect(notes.all == ["first starting", "first again first-result", "second first-result"])

        let observer = Deferred<String>()
        observer.follow(secondEnd)
        #expect(observer.currentSuccess == "second-result")
        #expect(firstEnd.currentSuccess == "first-result")
        #expect(secondEnd.currentSuccess == "second-result")
    }

    @Test("C1: a cancel runs the canceller, and the errback is given the cancellation")
    func cancel() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>(canceller: { resolver in
            notes.add("canceller")
            resolver.reject(CancellationError())
        })
        deferred.fail { error -> Void in notes.add("errback \(error is CancellationError)") }
        #expect(notes.all == [])
        deferred.cancel()
        #expect(notes.all == ["canceller", "errback true"])
    }

    @Test("C1: a canceller need not fail it; HLDeferred left it waiting, here it is cancelled all the same")
    func cancellerThatDoesNothing() {
        let deferred = Deferred<String>(canceller: { _ in })
        deferred.cancel()
        #expect(deferred.currentFailure is CancellationError)
    }

    @Test("Z1: a finalizer without callbacks runs once, with the result")
    func finalizerNoCallbacks() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>()
        deferred.finally { notes.add("\($0)") }
        #expect(deferred.resolve("success"))
        #expect(notes.all == [#"success("success")"#])
    }

    @Test("Z1: a finalizer runs after a callback, though it was added before it")
    func finalizerOneCallback() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>()
        deferred.finally { _ in notes.add("finalizer") }
        let end = deferred.map { value in
            notes.add("callback \(value)")
            return value
        }
        #expect(deferred.resolve("success"))
        #expect(notes.all == ["callback success", "finalizer"])
        #expect(end.currentSuccess == "success")
    }

    @Test("Z2: a second finalizer is no mistake, as it was in HLDeferred; it runs before the first")
    func twoFinalizers() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>()
        deferred.finally { _ in notes.add("first added") }
        deferred.finally { _ in notes.add("second added") }
        #expect(deferred.resolve(""))
        #expect(notes.all == ["second added", "first added"])
    }

    @Test(
        "Z3: a finalizer added once another has run is no mistake, as it was in HLDeferred; it runs at once")
    func finalizerAfterRun() {
        let notes = SharedLog<String>()
        let deferred = Deferred<String>()
        deferred.finally { _ in notes.add("before") }
        #expect(deferred.resolve(""))
        #expect(notes.all == ["before"])
        deferred.finally { _ in notes.add("after") }
        #expect(notes.all == ["before", "after"])
        deferred.done { _ in notes.add("attached") }
        #expect(notes.all == ["before", "after", "attached"])
    }
}
