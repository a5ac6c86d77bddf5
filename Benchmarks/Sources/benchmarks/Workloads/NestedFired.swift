import Deferred
import NIOCore
import OpenCombine

import struct Deferred.Deferred

/// W4a: a callback gives back a result that is there already.
///
/// Starting from a fired result, each step attaches a callback that gives back another fired result, with the
/// next number; the step's own result is where the next one attaches. The last number tells that every step
/// waited for, and took, what its callback gave back.
enum NestedFired<Value: Payload> {
    /// How many steps before starting afresh. (OpenCombine's steps don't settle before something subscribes,
    /// so there each one is an operation of its own.)
    static var steps: Int { 100 }

    static func workload() -> Workload {
        Workload(
            "W4a", "nested, inner already fired", per: "step", payload: Value.title,
            target: Target(limit: 0.5, peer: .embedded),
            contenders: [
                Contender(.deferred, items: steps, body: deferred),
                .embedded(items: steps) { try nio($0, $1, $2) },
                .threaded(items: steps) { try nio($0, $1, $2) },
                Contender(.openCombine, items: steps, body: openCombine),
                .concurrent(.task, items: steps, task),
            ])
    }

    private static func deferred(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = Sink()
        stopwatch.start()
        for _ in 0..<iterations {
            var end = Deferred.resolved(opaque(Value.make(0)))
            for _ in 0..<steps {
                end = end.then { Deferred.resolved($0.next()) }
            }
            end.then { sink.add($0.number) }
        }
        stopwatch.stop()
        try check(sink.total, is: steps * iterations)
    }

    private static func nio(_ loop: any EventLoop, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = Sink()
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
        let sink = Sink()
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

    /// A task that awaits a task.
    private static func task(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = Sink()
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
