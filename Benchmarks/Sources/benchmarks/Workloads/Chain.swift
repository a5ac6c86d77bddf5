import Deferred
import Dispatch

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// W3: a chain of 1,000 links on a pending result, which is then resolved.
///
/// Each link's callback returns the next number; one more link at the end adds the last number to the sink.
/// An iteration creates a chain, resolves it and releases it.
enum Chain<Value: BenchmarkValue> {
    static var length: Int { 1_000 }
    /// The longest chain that OpenCombine's recursion is known to survive; PEERS.md saw it overflow the stack
    /// at 562.
    static var shortLength: Int { 100 }

    static func workload() -> Workload {
        Workload(
            "W3", "chain of 1,000, settled", per: "link", payload: Value.title,
            target: Target(limit: 0.36, peer: .embedded)
        ) {
            Contender(.deferred, items: length, sized: deferred)
            #if Peers
            Contender.embedded(items: length) { try nio($0, length, $1, $2) }
            Contender.threaded(items: length) { try nio($0, length, $1, $2) }
            Contender(.openCombine, items: shortLength, body: openCombine)
            #endif
            Contender.concurrent(.task, items: length, task)
            Contender(.dispatch, .elapsed, items: length, body: dispatch)
        }
    }

    static func deferred(_ length: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(0))
        stopwatch.start()
        for _ in 0..<iterations {
            let source = Deferred<Value>()
            var end = source
            for _ in 0..<length {
                end = end.map { $0.next() }
            }
            end.done { sink.add($0.number) }
            source.resolve(value)
        }
        stopwatch.stop()
        try checkChains(sink, iterations, length)
    }

    #if Peers
    static func nio(
        _ loop: any EventLoop, _ length: Int, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(0))
        stopwatch.start()
        for _ in 0..<iterations {
            let source = loop.makePromise(of: Value.self)
            var end = source.futureResult
            for _ in 0..<length {
                end = end.map { $0.next() }
            }
            end.whenSuccess { sink.add($0.number) }
            source.succeed(value)
        }
        stopwatch.stop()
        try checkChains(sink, iterations, length)
    }

    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(0))
        let waiting = Waiting<Future<Value, Never>.Promise>()
        stopwatch.start()
        for _ in 0..<iterations {
            // Type-erased at each link, as a chain of unknown length has to be.
            var end = Future<Value, Never> { waiting.leave($0) }.eraseToAnyPublisher()
            for _ in 0..<shortLength {
                end = end.map { $0.next() }.eraseToAnyPublisher()
            }
            end.subscribe(
                Subscribers.Sink(receiveCompletion: { _ in }, receiveValue: { sink.add($0.number) }))
            waiting.next()?(.success(value))
        }
        stopwatch.stop()
        try checkChains(sink, iterations, shortLength)
    }
    #endif

    /// Each task awaits the one before it; the first awaits a continuation.
    private static func task(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(0))
        let waiting = Waiting<UnsafeContinuation<Value, Never>>()
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                var end = Task(executorPreference: executor) {
                    await withUnsafeContinuation { waiting.leave($0) }
                }
                for _ in 0..<length {
                    end = Task(executorPreference: executor) { [end] in await end.value.next() }
                }
                sink.add(await end.value.number)
            }
            stopwatch.stop()
        } whenIdle: {
            waiting.next()?.resume(returning: value)
        }
        try checkChains(sink, iterations, length)
    }

    /// A series of work items, each notified by the one before it.
    private static func dispatch(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let queue = DispatchQueue(label: "benchmarks.chain")
        let finished = DispatchSemaphore(value: 0)
        let carried = Carried(Value.make(0))
        stopwatch.start()
        for _ in 0..<iterations {
            let source = DispatchWorkItem {}
            var end = source
            for _ in 0..<length {
                let next = DispatchWorkItem { carried.value = carried.value.next() }
                end.notify(queue: queue, execute: next)
                end = next
            }
            end.notify(queue: queue) {
                sink.add(carried.value.number)
                finished.signal()
            }
            source.perform()
            finished.wait()
        }
        stopwatch.stop()
        // Bare work items pass no value on, so their value counts on from one chain to the next.
        try check(sink.total, is: length * iterations * (iterations + 1) / 2)
    }

    /// Checks that the sink received the last number of each chain. (A class is incremented in place from
    /// chain to chain.)
    private static func checkChains(_ sink: ValueSink, _ iterations: Int, _ length: Int) throws {
        let goesOn = Value.self == Reference.self
        try check(sink.total, is: length * (goesOn ? iterations * (iterations + 1) / 2 : iterations))
    }
}

/// A value that work items on one serial queue pass on.
///
/// Sound as `@unchecked Sendable`: only that queue's items, one at a time, access it.
private final class Carried<Value>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}
