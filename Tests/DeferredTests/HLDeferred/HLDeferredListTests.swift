import Deferred
import TestSupport
import Testing

/// HLDeferred's own tests of its list. Where the contract differs, the test states it.
@Suite("What HLDeferred's list did")
struct HLDeferredListTests {
    @Test("D1: an empty list that is made and dropped leaves nothing behind, and nothing to report")
    func madeAndDropped() {
        let reports = SharedLog<String>()
        DeferredDiagnostics.withHandler({ reports.add("\($0)") }) {
            _ = DeferredList<String>([]).results()
        }
        #expect(reports.all == [])
    }

    @Test("D1: the first of an empty list fails; HLDeferred left it waiting for ever")
    func firstOfEmptyList() {
        let first = DeferredList<String>([]).first()
        #expect(throws: DeferredError.self) { try first.currentResult?.get() }
        guard case .empty? = first.currentFailure as? DeferredError else {
            Issue.record("expected .empty, got \(String(describing: first.currentResult))")
            return
        }
    }

    @Test("D2: the first fires at once if an input has a value")
    func firstOnCreation() {
        let first = DeferredList([Deferred.resolved("ok"), Deferred<String>()]).first()
        #expect(first.currentSuccess?.index == 0)
        #expect(first.currentSuccess?.value == "ok")
    }

    @Test("D2: the first fires with the first value that comes, which stays with its input")
    func firstAfterCreation() {
        let inputs = [Deferred<String>(), Deferred<String>()]
        let first = DeferredList(inputs).first()
        #expect(first.currentResult == nil)
        #expect(inputs[0].resolve("ok"))
        #expect(first.currentSuccess?.index == 0)
        #expect(first.currentSuccess?.value == "ok")
        #expect(inputs[0].currentSuccess == "ok")
    }

    @Test("D1: an empty list fires at once")
    func emptyList() throws {
        let results = try #require(DeferredList<String>([]).results().currentSuccess)
        #expect(results.isEmpty)
    }

    @Test("D1: a list of one fires with its result")
    func oneResult() {
        let input = Deferred<String>()
        let results = DeferredList([input]).results()
        #expect(results.currentResult == nil)
        #expect(input.resolve("ok"))
        #expect(results.currentSuccess?.map(described) == ["ok"])
    }

    @Test("D1: an error is a result like any other")
    func oneError() {
        let input = Deferred<String>()
        let results = DeferredList([input], consumeErrors: true).results()
        #expect(results.currentResult == nil)
        #expect(input.reject(Flaw.flaw("ok")))
        #expect(results.currentSuccess?.map(described) == [#"!flaw("ok")"#])
    }

    @Test("F2: a callback attached to a list before it fires runs when it does")
    func callbackBeforeResolution() {
        let notes = SharedLog<String>()
        let input = Deferred<String>()
        let results = DeferredList([input]).results()
        results.done { results in notes.add("\(results.map(described))") }
        #expect(notes.all == [])
        #expect(input.resolve("ok"))
        #expect(notes.all == [#"["ok"]"#])
    }

    @Test("D1: a list of two fires with the second result")
    func twoResults() {
        let inputs = [Deferred<String>(), Deferred<String>()]
        let results = DeferredList(inputs).results()
        #expect(results.currentResult == nil)
        #expect(inputs[0].resolve("ok1"))
        #expect(results.currentResult == nil)
        #expect(inputs[1].resolve("ok2"))
        #expect(results.currentSuccess?.map(described) == ["ok1", "ok2"])
    }

    @Test("D1: the values of an empty list are there at once")
    func valuesOfEmptyList() {
        #expect(DeferredList<String>([]).values().currentSuccess == [])
    }

    @Test("D2: values fail at once if an input has failed")
    func valuesOnCreation() {
        let values = DeferredList([.rejected(Flaw.flaw("ok")), Deferred<String>()], consumeErrors: true)
            .values()
        #expect(values.currentFailure as? Flaw == .flaw("ok"))
    }

    @Test("D2: values fail with the first error that comes, which stays with its input")
    func valuesAfterCreation() {
        let notes = SharedLog<String>()
        let inputs = [Deferred<String>(), Deferred<String>()]
        let values = DeferredList(inputs).values()
        #expect(values.currentResult == nil)
        #expect(inputs[0].reject(Flaw.flaw("ok")))
        inputs[0].fail { error -> Void in notes.add("input \(error)") }
        values.fail { error -> Void in notes.add("values \(error)") }
        #expect(notes.all == [#"input flaw("ok")"#, #"values flaw("ok")"#])
    }

    @Test(
        "D3: errors that a list consumes are not reported; an input keeps its own, where HLDeferred put nil")
    func consumeErrors() {
        let reports = SharedLog<String>()
        let notes = SharedLog<String>()
        DeferredDiagnostics.withHandler({ reports.add("\($0)") }) {
            let inputs = [Deferred<String>(), Deferred<String>()]
            let results = DeferredList(inputs, consumeErrors: true).results()
            inputs[0].fail { error -> Void in notes.add("\(error)") }
            #expect(results.currentResult == nil)
            #expect(inputs[0].reject(Flaw.flaw("ok")))
            #expect(inputs[1].reject(Flaw.flaw("nobody looks")))
            #expect(results.currentSuccess?.map(described) == [#"!flaw("ok")"#, #"!flaw("nobody looks")"#])
        }
        #expect(notes.all == [#"flaw("ok")"#])
        #expect(reports.all == [])
    }

    @Test("D4: cancelling a list fails it with the cancellation")
    func cancel() {
        let notes = SharedLog<String>()
        let inputs = [Deferred<String>(), Deferred<String>()]
        let results = DeferredList(inputs).results()
        results.fail { error -> Void in notes.add("cancelled \(error is CancellationError)") }
        #expect(notes.all == [])
        results.cancel()
        #expect(notes.all == ["cancelled true"])
        #expect(inputs.allSatisfy { $0.currentFailure is CancellationError })
    }

    @Test("D4: cancelling a list cancels its inputs after it; HLDeferred's list had to be asked to")
    func cancelDeferredsWhenCancelled() {
        let notes = SharedLog<String>()
        let inputs = (1...2).map { number in
            Deferred<String>(canceller: { resolver in
                notes.add("canceller \(number)")
                resolver.reject(CancellationError())
            })
        }
        let results = DeferredList(inputs).results()
        results.fail { error -> Void in notes.add("errback \(error is CancellationError)") }
        #expect(notes.all == [])
        results.cancel()
        #expect(notes.all == ["errback true", "canceller 1", "canceller 2"])
        #expect(inputs.allSatisfy { $0.currentFailure is CancellationError })
    }

    /// An outcome in a word, errors with a `!`.
    private func described(_ result: Result<String, any Error>) -> String {
        switch result {
        case .success(let value): value
        case .failure(let error): "!\(error)"
        }
    }
}
