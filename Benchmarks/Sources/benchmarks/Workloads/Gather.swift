import Deferred
import Dispatch

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// W5: 1,000 pending results, gathered into one in order, then resolved one after another.
///
/// An iteration creates the results, gathers them, resolves each, and adds up the resulting array. An item is
/// one gathered result, with its own creation and completion.
enum Gather<Value: BenchmarkValue> {
    static var size: Int { 1_000 }

    static func workload() -> Workload {
        Workload(
            "W5", "gather 1,000", per: "result", payload: Value.title,
            target: Target(limit: Value.self == Wide.self ? 0.42 : 0.3, peer: .embedded)
        ) {
            Contender(.deferred, items: size, sized: deferred)
            #if Peers
            Contender.embedded(items: size) { try nio($0, size, $1, $2) }
            Contender.threaded(items: size) { try nio($0, size, $1, $2) }
            Contender(.openCombine, items: size, body: openCombine)
            #endif
            Contender.concurrent(.task, items: size, task)
            Contender(.dispatch, .elapsed, items: size, body: dispatch)
        }
    }

    static func deferred(_ size: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            let sources = (0..<size).map { _ in Deferred<Value>() }
            DeferredList(sources).values().done { values in
                for value in values { sink.add(value.number) }
            }
            for source in sources { source.resolve(value) }
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * size * iterations)
    }

    #if Peers
    static func nio(
        _ loop: any EventLoop, _ size: Int, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            let sources = (0..<size).map { _ in loop.makePromise(of: Value.self) }
            EventLoopFuture.whenAllSucceed(sources.map(\.futureResult), on: loop).whenSuccess { values in
                for value in values { sink.add(value.number) }
            }
            for source in sources { source.succeed(value) }
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * size * iterations)
    }

    /// Flattened and collected, in the order of completion, which here is that of the input.
    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let waiting = Waiting<Future<Value, Never>.Promise>()
        stopwatch.start()
        for _ in 0..<iterations {
            let sources = (0..<size).map { _ in Future<Value, Never> { waiting.append($0) } }
            sources.publisher.flatMap { $0 }.collect().subscribe(
                Subscribers.Sink(
                    receiveCompletion: { _ in },
                    receiveValue: { (values: [Value]) in
                        for value in values { sink.add(value.number) }
                    }))
            for complete in waiting.all { complete(.success(value)) }
            waiting.removeAll()
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * size * iterations)
    }
    #endif

    /// A task group, each child of which awaits a continuation.
    private static func task(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let waiting = Waiting<UnsafeContinuation<Value, Never>>()
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                let values = await withTaskGroup(of: (Int, Value).self) { group in
                    for index in 0..<size {
                        group.addTask { (index, await withUnsafeContinuation { waiting.append($0) }) }
                    }
                    var values = [Value?](repeating: nil, count: size)
                    for await (index, value) in group { values[index] = value }
                    return values
                }
                for case let value? in values { sink.add(value.number) }
            }
            stopwatch.stop()
        } whenIdle: {
            let all = waiting.all
            waiting.removeAll()
            for continuation in all { continuation.resume(returning: value) }
        }
        try check(sink.total, is: 7 * size * iterations)
    }

    /// A dispatch group; the values are stored in an array explicitly.
    private static func dispatch(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let queue = DispatchQueue(label: "benchmarks.gather")
        let values = Waiting<Value>()
        let finished = DispatchSemaphore(value: 0)
        stopwatch.start()
        for _ in 0..<iterations {
            let group = DispatchGroup()
            for _ in 0..<size { group.enter() }
            group.notify(queue: queue) {
                for value in values.all { sink.add(value.number) }
                finished.signal()
            }
            for _ in 0..<size {
                values.append(value)
                group.leave()
            }
            finished.wait()
            values.removeAll()
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * size * iterations)
    }
}
