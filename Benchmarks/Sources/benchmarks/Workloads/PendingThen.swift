import Deferred
import Dispatch

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// W2: a pending result with one callback, which is then resolved.
///
/// An operation creates the pending result, attaches one callback, which adds the value to the sink and
/// returns it, and resolves it. Nothing reads the new result.
enum PendingThen<Value: BenchmarkValue> {
    static func workload() -> Workload {
        Workload(
            "W2", "pending, then, settled", per: "operation", payload: Value.title,
            target: Target(limit: Value.self == Wide.self ? 0.5 : 0.42, peer: .embedded)
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
            let source = Deferred<Value>()
            _ = source.map { value in
                sink.add(value.number)
                return value
            }
            source.resolve(value)
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
            let source = loop.makePromise(of: Value.self)
            _ = source.futureResult.map { value in
                sink.add(value.number)
                return value
            }
            source.succeed(value)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }

    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let waiting = Waiting<Future<Value, Never>.Promise>()
        stopwatch.start()
        for _ in 0..<iterations {
            Future<Value, Never> { waiting.leave($0) }
                .map { value in
                    sink.add(value.number)
                    return value
                }
                .subscribe(Subscribers.Sink(receiveCompletion: { _ in }, receiveValue: { (_: Value) in }))
            waiting.next()?(.success(value))
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }
    #endif

    /// A task that waits for a continuation, awaited by another; the driver resumes the continuation.
    private static func task(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let waiting = Waiting<UnsafeContinuation<Value, Never>>()
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                let source = Task(executorPreference: executor) {
                    await withUnsafeContinuation { waiting.leave($0) }
                }
                sink.add(await source.value.number)
            }
            stopwatch.stop()
        } whenIdle: {
            waiting.next()?.resume(returning: value)
        }
        try check(sink.total, is: 7 * iterations)
    }

    private static func continuation(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let waiting = Waiting<UnsafeContinuation<Value, Never>>()
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                sink.add(await withUnsafeContinuation { waiting.leave($0) }.number)
            }
            stopwatch.stop()
        } whenIdle: {
            waiting.next()?.resume(returning: value)
        }
        try check(sink.total, is: 7 * iterations)
    }

    private static func dispatch(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let queue = DispatchQueue(label: "benchmarks.pending-then")
        stopwatch.start()
        for _ in 0..<iterations {
            let item = DispatchWorkItem {}
            item.notify(queue: queue) { sink.add(value.number) }
            item.perform()
        }
        queue.sync {}
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }
}
