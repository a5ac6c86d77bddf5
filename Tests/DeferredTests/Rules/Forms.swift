import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Rules L1 to L4: every form", .silentDiagnostics) struct Forms {
        /// Checks a form with each outcome of its source, attached before the completion and after it.
        private func check(_ form: OperatorForm, nests: Bool) async {
            let inputs: [Result<Int, any Error>] = [
                .success(1), .failure(Boom(1)), .failure(Crash()), .failure(CancellationError()),
            ]
            let ends: [Result<Int, any Error>] = [.success(5), .failure(Boom(2))]
            for (input, end) in inputs.flatMap({ input in ends.map { (input, $0) } }) {
                for isAttachedFirst in [true, false] {
                    let (calls, source, inner) = (Log(), Deferred<Int>(), Deferred<Int>())
                    if !isAttachedFirst { source.complete(with: input) }
                    let body = OperatorForm.Body { seen in
                        calls(Rules.outcome(seen))
                        return nests ? inner : .resolved(try end.get())
                    }
                    let link = form.attach(to: source, body)
                    if isAttachedFirst { source.complete(with: input) }
                    if nests && form.sees(input) {
                        #expect(!link.isSettled)
                        inner.complete(with: end)
                    }
                    #expect(
                        Rules.outcome(await link.result)
                            == Rules.outcome(form.outcome(of: input, endingWith: end)))
                    #expect(calls.all == (form.sees(input) ? [Rules.outcome(input)] : []))
                }
            }
        }

        @Test(
            "L1, L2, L3: the closure that sees the outcome runs, and decides; another outcome is passed on",
            arguments: OperatorForm.all)
        func outcomes(form: OperatorForm) async { await check(form, nests: false) }

        @Test(
            "L4: every form that may nest waits for the Deferred returned, and takes its outcome",
            arguments: OperatorForm.all.filter { $0.takes == .deferred })
        func nested(form: OperatorForm) async { await check(form, nests: true) }

        @Test("L4: the nested handle keeps its value for other consumers, notified in the order attached")
        func innerKeepsItsValue() {
            let log = Log()
            let inner = Deferred<Int>()
            inner.done { log("before \($0)") }
            let outer = Deferred.resolved(0).then { _ in inner }
            outer.done { log("outer \($0)") }
            inner.done { log("after \($0)") }
            inner.resolve(1)
            #expect(log.all == ["before 1", "after 1", "outer 1"])
            #expect(outcome(inner) == "1")
            inner.done { log("late \($0)") }
            #expect(log.all.last == "late 1")
        }
    }
}
