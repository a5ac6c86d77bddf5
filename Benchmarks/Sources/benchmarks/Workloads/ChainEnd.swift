import Deferred

import struct Deferred.Deferred

#if Peers
import NIOCore
#endif

/// The ends of chains: a callback or an errback that returns nothing, whose new result has no handle.
///
/// Compares `done` and `fail` with `whenSuccess` and `whenFailure`, which create no new future. Deferred does
/// the same work, and its result can still be cancelled or attached to. (W1, W2 and W6m are the same with a
/// new result.)
enum ChainEnd<Value: BenchmarkValue> {
    static func resolvedWorkload() -> Workload {
        workload("W1d", "already settled, done") {
            Contender(.deferred, body: resolvedDeferred)
            #if Peers
            Contender.embedded(resolvedNIO)
            Contender.threaded(resolvedNIO)
            #endif
        }
    }

    static func doneWorkload() -> Workload {
        workload("W2d", "pending, done, settled") {
            Contender(.deferred, body: doneDeferred)
            #if Peers
            Contender.embedded(doneNIO)
            Contender.threaded(doneNIO)
            #endif
        }
    }

    static func failWorkload() -> Workload {
        workload("W2f", "pending, fail, failed") {
            Contender(.deferred, body: failDeferred)
            #if Peers
            Contender.embedded(failNIO)
            Contender.threaded(failNIO)
            #endif
        }
    }

    private static func workload(
        _ name: String, _ title: String, @ContenderList contenders: () -> [Contender]
    ) -> Workload {
        Workload(
            name, title, per: "operation", payload: Value.title, target: Target(limit: nil, peer: .embedded),
            contenders: contenders)
    }

    private static func resolvedDeferred(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations { Deferred.resolved(value).done { sink.add($0.number) } }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }

    #if Peers
    private static func resolvedNIO(
        _ loop: any EventLoop, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations { loop.makeSucceededFuture(value).whenSuccess { sink.add($0.number) } }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }
    #endif

    private static func doneDeferred(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            let source = Deferred<Value>()
            source.done { sink.add($0.number) }
            source.resolve(value)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }

    #if Peers
    private static func doneNIO(_ loop: any EventLoop, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        stopwatch.start()
        for _ in 0..<iterations {
            let source = loop.makePromise(of: Value.self)
            source.futureResult.whenSuccess { sink.add($0.number) }
            source.succeed(value)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }
    #endif

    private static func failDeferred(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let error = opaque(ChainFailure())
        stopwatch.start()
        for _ in 0..<iterations {
            let source = Deferred<Value>()
            source.fail { sink.add($0 is ChainFailure ? 7 : 0) }
            source.reject(error)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }

    #if Peers
    private static func failNIO(_ loop: any EventLoop, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let error = opaque(ChainFailure())
        stopwatch.start()
        for _ in 0..<iterations {
            let source = loop.makePromise(of: Value.self)
            source.futureResult.whenFailure { sink.add($0 is ChainFailure ? 7 : 0) }
            source.fail(error)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }
    #endif
}

/// An error without payload.
private struct ChainFailure: Error {}
