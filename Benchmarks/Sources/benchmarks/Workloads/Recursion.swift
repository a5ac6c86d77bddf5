import Deferred
import Dispatch

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// W7: an asynchronous loop written as a recursion, 1,000 steps.
///
/// A step creates a pending result and pushes it for the driver; its callback returns the result of the rest
/// of the loop. The driver completes the result that was pushed last, with the next number, until none is
/// left. (A Swift continuation has no callback to recurse in: its loop is a loop of awaits; a Swift task's is
/// a recursion of tasks.)
enum Recursion<Value: BenchmarkValue> {
    static var length: Int { 1_000 }

    static func workload() -> Workload {
        Workload(
            "W7", "asynchronous recursion", per: "step", payload: Value.title,
            target: Target(limit: 0.5, peer: .embedded)
        ) {
            Contender(.deferred, items: length, sized: { try deferred($0, $1, $2) })
            #if Peers
            Contender.embedded(items: length) { try nio($0, length, $1, $2) }
            Contender.threaded(items: length) { try nio($0, length, $1, $2) }
            Contender(.openCombine, items: length, body: openCombine)
            #endif
            Contender.concurrent(.task, items: length, task)
            Contender.concurrent(.continuation, items: length, continuation)
            Contender(.dispatch, .elapsed, items: length, body: dispatch)
        }
    }

    /// Calls `halfway` in the middle of each loop; see ``MemoryGrowth``.
    static func deferred(
        _ length: Int, _ iterations: Int, _ stopwatch: Stopwatch, halfway: () -> Void = {}
    ) throws {
        let sink = ValueSink()
        let waiting = Waiting<Deferred<Value>>()
        @Sendable func loop(_ remaining: Int, _ value: Value) -> Deferred<Value> {
            guard remaining > 0 else { return .resolved(value) }
            let step = Deferred<Value>()
            waiting.leave(step)
            return step.then { loop(remaining - 1, $0) }
        }
        stopwatch.start()
        for _ in 0..<iterations {
            var value = opaque(Value.make(0))
            loop(length, value).done { sink.add($0.number) }
            var completed = 0
            while let step = waiting.next() {
                value = value.next()
                step.resolve(value)
                completed += 1
                if completed == length / 2 { halfway() }
            }
        }
        stopwatch.stop()
        try check(sink.total, is: length * iterations)
    }

    #if Peers
    static func nio(
        _ eventLoop: any EventLoop, _ length: Int, _ iterations: Int, _ stopwatch: Stopwatch,
        halfway: () -> Void = {}
    ) throws {
        let sink = ValueSink()
        let waiting = Waiting<EventLoopPromise<Value>>()
        let owner = LoopOwner(eventLoop)
        @Sendable func loop(_ remaining: Int, _ value: Value) -> EventLoopFuture<Value> {
            guard remaining > 0 else { return owner.loop.makeSucceededFuture(value) }
            let step = owner.loop.makePromise(of: Value.self)
            waiting.leave(step)
            return step.futureResult.flatMap { loop(remaining - 1, $0) }
        }
        stopwatch.start()
        for _ in 0..<iterations {
            var value = opaque(Value.make(0))
            loop(length, value).whenSuccess { sink.add($0.number) }
            var completed = 0
            while let step = waiting.next() {
                value = value.next()
                step.succeed(value)
                completed += 1
                if completed == length / 2 { halfway() }
            }
        }
        stopwatch.stop()
        try check(sink.total, is: length * iterations)
    }

    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let waiting = Waiting<Future<Value, Never>.Promise>()
        @Sendable func loop(_ remaining: Int, _ value: Value) -> AnyPublisher<Value, Never> {
            guard remaining > 0 else { return Future { $0(.success(value)) }.eraseToAnyPublisher() }
            return Future<Value, Never> { waiting.leave($0) }
                .flatMap { loop(remaining - 1, $0) }
                .eraseToAnyPublisher()
        }
        stopwatch.start()
        for _ in 0..<iterations {
            var value = opaque(Value.make(0))
            loop(length, value).subscribe(
                Subscribers.Sink(receiveCompletion: { _ in }, receiveValue: { sink.add($0.number) }))
            while let complete = waiting.next() {
                value = value.next()
                complete(.success(value))
            }
        }
        stopwatch.stop()
        try check(sink.total, is: length * iterations)
    }
    #endif

    private static func task(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let waiting = Waiting<UnsafeContinuation<Void, Never>>()
        @Sendable func loop(_ remaining: Int, _ value: Value) async -> Value {
            guard remaining > 0 else { return value }
            await withUnsafeContinuation { waiting.leave($0) }
            return await Task(executorPreference: executor) { await loop(remaining - 1, value.next()) }.value
        }
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                sink.add(await loop(length, opaque(Value.make(0))).number)
            }
            stopwatch.stop()
        } whenIdle: {
            waiting.next()?.resume()
        }
        try check(sink.total, is: length * iterations)
    }

    private static func continuation(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let waiting = Waiting<UnsafeContinuation<Void, Never>>()
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                var value = opaque(Value.make(0))
                for _ in 0..<length {
                    await withUnsafeContinuation { waiting.leave($0) }
                    value = value.next()
                }
                sink.add(value.number)
            }
            stopwatch.stop()
        } whenIdle: {
            waiting.next()?.resume()
        }
        try check(sink.total, is: length * iterations)
    }

    private static func dispatch(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let queue = DispatchQueue(label: "benchmarks.recursion")
        let finished = DispatchSemaphore(value: 0)
        @Sendable func loop(_ remaining: Int, _ value: Value) {
            guard remaining > 0 else {
                sink.add(value.number)
                finished.signal()
                return
            }
            queue.async { loop(remaining - 1, value.next()) }
        }
        stopwatch.start()
        for _ in 0..<iterations {
            loop(length, opaque(Value.make(0)))
            finished.wait()
        }
        stopwatch.stop()
        try check(sink.total, is: length * iterations)
    }
}
