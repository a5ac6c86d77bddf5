import Deferred
import Synchronization
import TestSupport
import Testing

extension Rules {
    /// F6, L6: neither Tasks that await Deferreds of Tasks, nor timers that run their work at once, take stack.
    @Suite("Rule F6: Tasks in Deferreds") struct NestedTasks {
        @Test("F6: a cancel of Deferreds with a Task that awaits the next takes no stack")
        func cancelled() async {
            let depth = 2_000
            let waiting = Atomic(0)
            let (allWait, resolver) = Deferred<Void>.withResolver()
            let innermost = Deferred<Int>()
            var deferreds = [innermost]
            for _ in 0..<depth {
                let next = deferreds[deferreds.count - 1]
                deferreds.append(
                    Deferred {
                        let isLast = waiting.add(1, ordering: .acquiringAndReleasing).newValue == depth
                        if isLast { resolver.resolve() }
                        return try await next.value
                    })
            }
            _ = await allWait.result
            let outermost = deferreds[depth]
            SmallStack.run { check in
                outermost.cancel()
                check(outermost.isSettled)
            }
            for deferred in deferreds {
                guard case .failure(let error) = await deferred.result else {
                    Issue.record("not cancelled")
                    return
                }
                #expect(error is CancellationError)
            }
        }

        /// Runs its work within the call.
        private struct AtOnce: DelayedDispatcher {
            struct Work: DelayedWork { func cancel() {} }

            func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
            func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
                work()
                return Work()
            }
            var elapsed: Duration { .zero }
        }

        @Test(
            "L6: attempts of a retry on a timer that runs its work at once take no stack",
            arguments: [true, false])
        func retries(failsAtOnce: Bool) {
            SmallStack.run { check in
                let attempts = Extent.depth
                let source = Deferred<Int>()
                let retried = Deferred<Int>.retry(attempts: attempts, delay: .none, timer: AtOnce()) {
                    number in
                    if number == attempts { return .resolved(number) }
                    return failsAtOnce || number > 1 ? .rejected(Failed()) : source
                }
                source.reject(Failed())
                check((try? retried.currentResult?.get()) == attempts)
            }
        }

        private struct Failed: Error {}
    }
}
