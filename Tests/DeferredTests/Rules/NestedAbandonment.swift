import Deferred
import TestSupport
import Testing

extension Rules {
    /// Sources each retained by the errback of the next: releasing the outermost abandons all, one within the
    /// other. The depths lie on both sides of the engine's limit for abandonments nested on the stack.
    @Suite("Rule A1: nested abandonment", .silentDiagnostics) struct NestedAbandonment {
        /// Abandons `depth` sources, one within another; `body` runs in the errback of the innermost.
        private func abandon(depth: Int, _ body: @escaping @Sendable () -> Void) {
            var outermost = Deferred<Int>()
            outermost.fail { _ in body() }
            for _ in 1..<depth {
                let inner = Box<Deferred<Int>?>(outermost)
                outermost = Deferred<Int>()
                outermost.fail { _ in inner.value = nil }
            }
            outermost = .resolved(0)
        }

        /// A source, and the state of its consumer after `touch` was called in a `deinit`, at the given
        /// depth, just after the source was released.
        private func outcomeAfter(
            depth: Int, _ touch: @escaping @Sendable (Deferred<Int>) -> Void
        ) -> String {
            let source = Box<Deferred<Int>?>(Deferred<Int>())
            let consumer = source.value!.map { $0 + 1 }
            let filler = Box<[[UInt]]>([])
            let last = Box<AtEnd?>(
                AtEnd {
                    // Overwrites the freed memory.
                    filler.value = (0..<64).map { _ in Array(repeating: 0x4141_4141_4141_4140, count: 10) }
                    touch(consumer)
                })
            abandon(depth: depth) {
                source.value = nil
                last.value = nil
            }
            return outcome(consumer)
        }

        static let touches: [String: @Sendable (Deferred<Int>) -> Void] = [
            "described": { _ = "\($0)" + $0.debugDescription },
            "cancelled": { $0.cancel() },
            "waited for": { consumer in
                let result = Result { try consumer.wait() }
                #expect(outcome(result) == "abandoned")
            },
            "returned by a callback": { consumer in
                let added = Deferred.resolved(1).then { _ in consumer.map { $0 } }
                added.both { #expect(outcome($0) == "abandoned") }
            },
        ]

        @Test(
            "A1: a consumer that is used in a deinit, at any depth",
            arguments: touches.keys.sorted())
        func used(touch: String) throws {
            let touch = try #require(Self.touches[touch])
            var faults = Faults()
            for depth in 1...40 {
                let outcome = outcomeAfter(depth: depth, touch)
                faults.check(outcome == "abandoned", "at a depth of \(depth): \(outcome)")
            }
            faults.report()
        }

        @Test(
            "A1: a source abandoned while each canceller cancels a consumer of the next",
            arguments: [8, 1000])
        func cancelsWithin(depth: Int) {
            var consumers: [Deferred<Int>] = []
            var source: Deferred<Int>? = Deferred<Int>()
            for _ in 0..<depth {
                let consumer = source!.map { $0 }
                consumers.append(consumer)
                let inner = Box(source)
                source = Deferred<Int>()
                source!.fail { _ in
                    inner.value = nil
                    consumer.cancel()
                }
            }
            source = nil
            #expect(consumers.allSatisfy { $0.isSettled })
        }
    }

    /// Runs a closure in its `deinit`.
    final class AtEnd: Sendable {
        private let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        deinit { body() }
    }
}
