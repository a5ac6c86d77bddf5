import Deferred
import Dispatch

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// W1: a resolved result, and one callback on it.
///
/// An operation creates the resolved result and attaches one callback, which adds the value to the sink and
/// returns it, so that there is a new result to create. Nothing reads that new result.
enum SettledThen<Value: BenchmarkValue> {
    static func workload() -> Workload {
        Workload(
            "W1", "already settled, then", per: "operation", payload: Value.title,
            target: Target(limit: 0.28, peer: .embedded)
        ) {
            Contender(.deferred, body: deferred)
            #if Peers
            Contender.embedded { try nio($0, $1, $2) }
            Contender.threaded { try nio($0, $1, $2) }
            Contender(.openCombine, body: openCombine)
            #endif
            Contender.concurrent(.task, task)
            Contender.concurrent(.continuation, continuation)
            Contender(.dispatch, .elapsed, body: dispatch)
        }
    }

    private static func deferred(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            _ = Deferred.resolved(value).map { value in
                sink.add(value.number)
                return value
            }
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }

    #if Peers
    private static func nio(_ loop: any EventLoop, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            _ = loop.makeSucceededFuture(value).map { value in
                sink.add(value.number)
                return value
            }
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }

    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            // A Combine operator does nothing until something subscribes.
            Future<Value, Never> { $0(.success(value)) }
                .map { value in
                    sink.add(value.number)
                    return value
                }
                .subscribe(Subscribers.Sink(receiveCompletion: { _ in }, receiveValue: { (_: Value) in }))
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }
    #endif

    private static func task(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                sink.add(await Task(executorPreference: executor) { value }.value.number)
            }
            stopwatch.stop()
        }
        try check(sink.total, is: 7 * iterations)
    }

    private static func continuation(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                sink.add(await withUnsafeContinuation { $0.resume(returning: value) }.number)
            }
            stopwatch.stop()
        }
        try check(sink.total, is: 7 * iterations)
    }

    private static func dispatch(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let queue = DispatchQueue(label: "benchmarks.settled-then")
        stopwatch.start()
        for _ in 0..<iterations {
            let item = DispatchWorkItem {}
            item.perform()
            item.notify(queue: queue) { sink.add(value.number) }
        }
        queue.sync {}
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }
}
