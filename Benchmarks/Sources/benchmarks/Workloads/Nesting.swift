import Deferred

#if Peers
import NIOCore
#endif

/// A tower of nested results: each waits for one that a callback returned, `depth` deep, and the innermost is
/// resolved.
///
/// For the growth curves only.
enum Nesting<Value: BenchmarkValue> {
    static func deferred(_ depth: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let settled = Deferred.resolved(0)
        stopwatch.start()
        for _ in 0..<iterations {
            let innermost = Deferred<Value>()
            var outermost = innermost
            for _ in 0..<depth {
                outermost = settled.then { [outermost] _ in outermost }
            }
            outermost.done { sink.add($0.number) }
            innermost.resolve(value)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }

    #if Peers
    static func nio(
        _ loop: any EventLoop, _ depth: Int, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let settled = loop.makeSucceededFuture(0)
        stopwatch.start()
        for _ in 0..<iterations {
            let innermost = loop.makePromise(of: Value.self)
            var outermost = innermost.futureResult
            for _ in 0..<depth {
                outermost = settled.flatMap { [outermost] _ in outermost }
            }
            outermost.whenSuccess { sink.add($0.number) }
            innermost.succeed(value)
        }
        stopwatch.stop()
        try check(sink.total, is: 7 * iterations)
    }
    #endif
}
