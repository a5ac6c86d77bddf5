import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    /// V1: a value that passes through a function of the library is received or given back, once, whatever becomes of
    /// its consumer.
    @Suite("Rule V1: values that are passed on") struct PassedValues {
        typealias Way = (name: String, pass: @Sendable (Deferred<Int>) -> Deferred<Int>)

        /// The functions that pass a value on, each with the value of a Deferred. Those of other modules are in
        /// `PassedValueTests` there.
        static let ways = operators + others

        private static let operators: [Way] =
            (OperatorForm.on(nil) + OperatorForm.on(InlineDispatcher())
            + OperatorForm.asynchronous)
            .filter { !$0.receivesValues && $0.takes != .nothing }
            .map { form in
                ("\(form)", { form.pass($0, OperatorForm.Body { .resolved(try $0.get()) })! })
            }

        private static let others: [Way] = [
            ("nothing", { $0 }),
            ("shielded", { $0.shielded() }),
            ("timeout", { $0.timeout(.seconds(9), timer: ManualClock()) }),
            (
                "timeout with a closure",
                { $0.timeout(.seconds(9), timer: ManualClock()) { throw DeferredError.timedOut } }
            ),
            (
                "follow of a Deferred",
                {
                    let other = Deferred<Int>()
                    other.follow($0)
                    return other
                }
            ),
            (
                "follow of a resolver",
                {
                    let (other, resolver) = Deferred<Int>.withResolver()
                    resolver.follow($0)
                    return other
                }
            ),
            ("finally", { $0.finally { _ in } }),
            ("nested in then", { source in Deferred.resolved(0).then { _ in source } }),
            ("nested in thenResult", { source in Deferred.resolved(0).thenResult { _ in source } }),
            ("nested in orElse", { source in Deferred.rejected(Late()).orElse { _ in source } }),
            ("init(following:)", { source in Deferred(following: { source }) }),
            ("retry", { source in Deferred.retry(delay: .none, timer: ManualClock()) { source } }),
            ("run of a lock", { source in DeferredLock().run { source } }),
            ("run of a semaphore", { source in DeferredSemaphore(1).run { source } }),
            ("run of a DeferredLatest", { source in DeferredLatest().run { source } }),
            (
                "run of a DeferredLatest, after a pause",
                { source in
                    let clock = ManualClock()
                    let call = DeferredLatest(debounce: .seconds(1), timer: clock).run { source }
                    clock.advance(by: .seconds(1))
                    return call
                }
            ),
            (
                "a cache that keeps nothing",
                { source in DeferredCache<Int, Int>().value(for: 1) { source } }
            ),
        ]

        private struct Late: Error {}

        @Test(
            "V1: what passes a value on neither loses nor doubles it", arguments: ways.indices,
            ValueFate.allCases)
        func passed(_ index: Int, _ fate: ValueFate) {
            let (name, pass) = Self.ways[index]
            for isSettledFirst in [false, true] {
                let count = fate.count(of: 5, isSettledFirst: isSettledFirst, pass)
                #expect(count.received + count.returned == 1, "\(name), settled first: \(isSettledFirst)")
                if let expected = fate.expected(isSettledFirst: isSettledFirst) {
                    #expect(count == expected, "\(name), settled first: \(isSettledFirst)")
                }
            }
        }

        @Test(
            "V1: two functions, one after the other, neither lose nor double a value", arguments: ways.indices
        )
        func passedTwice(_ first: Int) {
            for (second, pass) in Self.ways {
                for fate in ValueFate.allCases {
                    for isSettledFirst in [false, true] {
                        let count = fate.count(of: 5, isSettledFirst: isSettledFirst) {
                            pass(Self.ways[first].pass($0))
                        }
                        let text: Comment =
                            "\(fate), \(Self.ways[first].name), \(second), settled first: \(isSettledFirst)"
                        #expect(count.received + count.returned == 1, text)
                        if let expected = fate.expected(isSettledFirst: isSettledFirst) {
                            #expect(count == expected, text)
                        }
                    }
                }
            }
        }
    }
}
