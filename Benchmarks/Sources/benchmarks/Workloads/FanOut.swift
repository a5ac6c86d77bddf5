import Deferred
import Dispatch

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// W6: 1,000 callbacks on one pending result, which is then resolved.
///
/// Each callback adds the value to the sink and returns nothing. NIO's `whenSuccess`, which creates no new
/// future, is compared with Deferred's `done`, which does. W6m is the same with callbacks that return a
/// value.
enum FanOut<Value: BenchmarkValue> {
    static var width: Int { 1_000 }

    static func workload() -> Workload {
        Workload(
            "W6", "1,000 callbacks on one", per: "callback", payload: Value.title,
            target: Target(limit: 0.68, peer: .embedded)
        ) {
            Contender(.deferred, items: width, sized: deferred)
            #if Peers
            Contender.embedded(items: width) { try nio($0, width, $1, $2) }
            Contender.threaded(items: width) { try nio($0, width, $1, $2) }
            Contender(.openCombine, items: width, body: openCombine)
            #endif
            Contender.concurrent(.task, items: width, task)
            Contender(.dispatch, .elapsed, items: width, body: dispatch)
        }
    }

    static func mappingWorkload() -> Workload {
        Workload(
            "W6m", "1,000 callbacks on one, each with a new result", per: "callback", payload: Value.title,
            target: Target(limit: 0.8, peer: .embedded)
        ) {
            Contender(.deferred, items: width, sized: deferredMapping)
            #if Peers
            Contender.embedded(items: width) { try nioMapping($0, $1, $2) }
            Contender.threaded(items: width) { try nioMapping($0, $1, $2) }
            #endif
        }
    }

    static func deferred(_ width: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            let source = Deferred<Value>()
            for _ in 0..<width {
                source.done { sink.add($0.number) }
            }
            source.resolve(value)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * width * iterations)
    }

    #if Peers
    static func nio(
        _ loop: any EventLoop, _ width: Int, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            let source = loop.makePromise(of: Value.self)
            for _ in 0..<width {
                source.futureResult.whenSuccess { sink.add($0.number) }
            }
            source.succeed(value)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * width * iterations)
    }
    #endif

    private static func deferredMapping(_ width: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            let source = Deferred<Value>()
            for _ in 0..<width {
                _ = source.map { value in
                    sink.add(value.number)
                    return value
                }
            }
            source.resolve(value)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * width * iterations)
    }

    #if Peers
    private static func nioMapping(_ loop: any EventLoop, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            let source = loop.makePromise(of: Value.self)
            for _ in 0..<width {
                _ = source.futureResult.map { value in
                    sink.add(value.number)
                    return value
                }
            }
            source.succeed(value)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * width * iterations)
    }

    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let waiting = Waiting<Future<Value, Never>.Promise>()
        stopwatch.start()
        for _ in 0..<iterations {
            let source = Future<Value, Never> { waiting.leave($0) }
            for _ in 0..<width {
                source.subscribe(
                    Subscribers.Sink(receiveCompletion: { _ in }, receiveValue: { sink.add($0.number) }))
            }
            waiting.next()?(.success(value))
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * width * iterations)
    }
    #endif

    /// 1,000 tasks that await one task.
    private static func task(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let waiting = Waiting<UnsafeContinuation<Value, Never>>()
        stopwatch.start()
        for _ in 0..<iterations {
            let source = Task(executorPreference: executor) {
                await withUnsafeContinuation { waiting.leave($0) }
            }
            for _ in 0..<width {
                Task(executorPreference: executor) { sink.add(await source.value.number) }
            }
            executor.drain()
            waiting.next()?.resume(returning: value)
            executor.drain()
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * width * iterations)
    }

    private static func dispatch(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let queue = DispatchQueue(label: "benchmarks.fan-out")
        stopwatch.start()
        for _ in 0..<iterations {
            let source = DispatchGroup()
            source.enter()
            for _ in 0..<width {
                source.notify(queue: queue) { sink.add(value.number) }
            }
            source.leave()
            queue.sync {}
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * width * iterations)
    }
}
