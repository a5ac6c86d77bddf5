import Deferred

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// W4b: a callback returns a pending result, which is then resolved.
///
/// As ``NestedSettled``, but the result that each step's callback returns is pending, and is resolved
/// afterwards with the next number.
enum NestedPending<Value: BenchmarkValue> {
    static var steps: Int { 100 }

    static func workload() -> Workload {
        Workload(
            "W4b", "nested, inner pending", per: "step", payload: Value.title,
            target: Target(limit: 0.34, peer: .embedded)
        ) {
            Contender(.deferred, items: steps, body: deferred)
            #if Peers
            Contender.embedded(items: steps) { try nio($0, $1, $2) }
            Contender.threaded(items: steps) { try nio($0, $1, $2) }
            Contender(.openCombine, items: steps, body: openCombine)
            #endif
            Contender.concurrent(.task, items: steps, task)
            Contender.concurrent(.continuation, items: steps, continuation)
        }
    }

    private static func deferred(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        stopwatch.start()
        for _ in 0..<iterations {
            var value = opaque(Value.make(0))
            var end = Deferred.resolved(value)
            for _ in 0..<steps {
                let inner = Deferred<Value>()
                end = end.then { _ in inner }
                value = value.next()
                inner.resolve(value)
            }
            end.done { sink.add($0.number) }
        }
        stopwatch.stop()
        try check(sink.total, is: steps * iterations)
    }

    #if Peers
    private static func nio(_ loop: any EventLoop, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        stopwatch.start()
        for _ in 0..<iterations {
            var value = opaque(Value.make(0))
            var end = loop.makeSucceededFuture(value)
            for _ in 0..<steps {
                let inner = loop.makePromise(of: Value.self)
                end = end.flatMap { _ in inner.futureResult }
                value = value.next()
                inner.succeed(value)
            }
            end.whenSuccess { sink.add($0.number) }
        }
        stopwatch.stop()
        try check(sink.total, is: steps * iterations)
    }

    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(0))
        let waiting = Waiting<Future<Value, Never>.Promise>()
        stopwatch.start()
        for _ in 0..<(steps * iterations) {
            let inner = Future<Value, Never> { waiting.leave($0) }
            Future<Value, Never> { $0(.success(value)) }
                .flatMap { _ in inner }
                .subscribe(
                    Subscribers.Sink(
                        receiveCompletion: { _ in }, receiveValue: { sink.add($0.number > 0 ? 1 : 0) }))
            waiting.next()?(.success(value.next()))
        }
        stopwatch.stop()
        try check(sink.total, is: steps * iterations)
    }
    #endif

    /// A task that awaits a task that awaits a continuation.
    private static func task(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let waiting = Waiting<UnsafeContinuation<Void, Never>>()
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                var value = opaque(Value.make(0))
                for _ in 0..<steps {
                    let outer = Task(executorPreference: executor) { [value] in
                        await Task(executorPreference: executor) {
                            await withUnsafeContinuation { waiting.leave($0) }
                            return value.next()
                        }.value
                    }
                    value = await outer.value
                }
                sink.add(value.number)
            }
            stopwatch.stop()
        } whenIdle: {
            waiting.next()?.resume()
        }
        try check(sink.total, is: steps * iterations)
    }

    /// An asynchronous function that calls another, which suspends.
    private static func continuation(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let waiting = Waiting<UnsafeContinuation<Void, Never>>()
        @Sendable func inner(_ value: Value) async -> Value {
            await withUnsafeContinuation { waiting.leave($0) }
            return value.next()
        }
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                var value = opaque(Value.make(0))
                for _ in 0..<steps {
                    value = await inner(value)
                }
                sink.add(value.number)
            }
            stopwatch.stop()
        } whenIdle: {
            waiting.next()?.resume()
        }
        try check(sink.total, is: steps * iterations)
    }
}
