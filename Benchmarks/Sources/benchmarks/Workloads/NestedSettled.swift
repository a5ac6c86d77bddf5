import Deferred

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// W4a: a callback returns a result that is already resolved.
///
/// Starting from a resolved result, each step attaches a callback that returns another resolved result, with
/// the next number; the next step attaches to the step's own result. The last number shows that every step
/// waited for the result that its callback returned.
enum NestedSettled<Value: BenchmarkValue> {
    /// The number of steps before a fresh start. (OpenCombine's steps do not settle before something
    /// subscribes, so there each one is an operation of its own.)
    static var steps: Int { 100 }

    static func workload() -> Workload {
        Workload(
            "W4a", "nested, inner already settled", per: "step", payload: Value.title,
            target: Target(limit: 0.26, peer: .embedded)
        ) {
            Contender(.deferred, items: steps, body: deferred)
            #if Peers
            Contender.embedded(items: steps) { try nio($0, $1, $2) }
            Contender.threaded(items: steps) { try nio($0, $1, $2) }
            Contender(.openCombine, items: steps, body: openCombine)
            #endif
            Contender.concurrent(.task, items: steps, task)
        }
    }

    private static func deferred(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        stopwatch.start()
        for _ in 0..<iterations {
            var end = Deferred.resolved(opaque(Value.make(0)))
            for _ in 0..<steps {
                end = end.then { Deferred.resolved($0.next()) }
            }
            end.done { sink.add($0.number) }
        }
        stopwatch.stop()
        try check(sink.total, is: steps * iterations)
    }

    #if Peers
    private static func nio(_ loop: any EventLoop, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let owner = LoopOwner(loop)
        stopwatch.start()
        for _ in 0..<iterations {
            var end = loop.makeSucceededFuture(opaque(Value.make(0)))
            for _ in 0..<steps {
                end = end.flatMap { owner.loop.makeSucceededFuture($0.next()) }
            }
            end.whenSuccess { sink.add($0.number) }
        }
        stopwatch.stop()
        try check(sink.total, is: steps * iterations)
    }

    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(0))
        stopwatch.start()
        for _ in 0..<(steps * iterations) {
            Future<Value, Never> { $0(.success(value)) }
                .flatMap { value in Future<Value, Never> { $0(.success(value.next())) } }
                .subscribe(
                    Subscribers.Sink(
                        receiveCompletion: { _ in }, receiveValue: { sink.add($0.number > 0 ? 1 : 0) }))
        }
        stopwatch.stop()
        try check(sink.total, is: steps * iterations)
    }
    #endif

    /// A task that awaits a task.
    private static func task(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations {
                var value = opaque(Value.make(0))
                for _ in 0..<steps {
                    let outer = Task(executorPreference: executor) { [value] in
                        await Task(executorPreference: executor) { value.next() }.value
                    }
                    value = await outer.value
                }
                sink.add(value.number)
            }
            stopwatch.stop()
        }
        try check(sink.total, is: steps * iterations)
    }
}
