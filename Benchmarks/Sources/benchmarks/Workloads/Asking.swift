import Deferred
import Multicast

import struct Deferred.Deferred

/// Q1, Q2, Q3: a question to two delegates without dispatchers, whose answers are there.
///
/// An operation asks and reads the result: whether all agree, asked one after the other (Q1) and at the same time (Q2), and
/// the answers of all (Q3).
enum Asking<Value: BenchmarkValue> {
    private final class Delegate: Sendable {
        let value = Value.make(7)
    }

    static func workloads() -> [Workload] {
        [
            workload("Q1", "two delegates asked, one after the other") { delegates, sink in
                let agrees = delegates.all { $0.value.number == 7 }
                if case .success(true)? = agrees.currentResult { sink.add(14) }
            },
            workload("Q2", "two delegates asked at the same time") { delegates, sink in
                let agrees = delegates.all(asking: .concurrently) { $0.value.number == 7 }
                if case .success(true)? = agrees.currentResult { sink.add(14) }
            },
            workload("Q3", "the answers of two delegates") { delegates, sink in
                let answers = delegates.collect { $0.value }
                if case .success(let values)? = answers.currentResult {
                    for value in values { sink.add(value.number) }
                }
            },
        ]
    }

    private static func workload(
        _ name: String, _ title: String,
        _ ask: @escaping (MulticastDelegate<Delegate>, ValueSink) -> Void
    ) -> Workload {
        Workload(name, title, per: "question", payload: Value.title) {
            Contender(.deferred) { iterations, stopwatch in
                let sink = ValueSink()
                let delegates = MulticastDelegate<Delegate>()
                let both = [Delegate(), Delegate()]
                for delegate in both { delegates.add(delegate, on: nil) }
                stopwatch.start()
                for _ in 0..<iterations { ask(delegates, sink) }
                stopwatch.stop()
                withExtendedLifetime(both) {}
                try check(sink.total, is: 14 * iterations)
            }
        }
    }
}
