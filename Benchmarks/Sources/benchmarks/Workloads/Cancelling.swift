import Deferred
import OpenCombine

import struct Deferred.Deferred

/// C1: `cancel()` on the end of a chain of 100,000 pending links.
///
/// The cancel travels up to the source, whose failure travels down all the links. Building is not timed. A
/// peer that can cancel a chain at all: OpenCombine, 100 links long.
enum CancelledChain<Value: Payload> {
    static var length: Int { 100_000 }
    static var shortLength: Int { 100 }

    static func workload() -> Workload {
        Workload(
            "C1", "cancel a chain of 100,000", per: "link", payload: Value.title,
            contenders: [
                Contender(.deferred, items: length) { try deferred(length, $0, $1) },
                Contender(.openCombine, items: shortLength, body: openCombine),
            ])
    }

    static func deferred(_ length: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        for _ in 0..<iterations {
            let sink = Sink()
            let source = Deferred<Value>()
            var end = source
            for _ in 0..<length {
                end = end.then { $0.next() }
            }
            let last = end.fail { error -> Void in sink.add(error is CancellationError ? 1 : 0) }
            stopwatch.start()
            last.cancel()
            stopwatch.stop()
            try check(sink.total, is: 1)
        }
    }

    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let subscriptions = (0..<iterations).map { _ in
            var end = Future<Value, Never> { _ in }.eraseToAnyPublisher()
            for _ in 0..<shortLength {
                end = end.map { $0.next() }.eraseToAnyPublisher()
            }
            return end.sink { _ in }
        }
        stopwatch.start()
        for subscription in subscriptions { subscription.cancel() }
        stopwatch.stop()
    }
}

/// C2: `cancel()` of a list of 100,000 pending inputs, each of which is cancelled in turn.
///
/// Swift concurrency: a task group of 100,000 children, each waiting for a continuation that its cancellation
/// handler resumes; the measured part is `cancelAll()` and the end of the children.
enum CancelledList<Value: Payload> {
    static var size: Int { 100_000 }

    static func workload() -> Workload {
        Workload(
            "C2", "cancel a list of 100,000", per: "input", payload: Value.title,
            contenders: [
                Contender(.deferred, items: size) { try deferred(size, $0, $1) },
                .concurrent(.task, items: size, task),
            ])
    }

    static func deferred(_ size: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        for _ in 0..<iterations {
            let sink = Sink()
            let sources = (0..<size).map { _ in Deferred<Value>() }
            let values = DeferredList(sources).values()
            values.fail { error -> Void in sink.add(error is CancellationError ? 1 : 0) }
            stopwatch.start()
            values.cancel()
            stopwatch.stop()
            try check(sink.total, is: 1)
            for source in sources {
                guard case .failure(let error) = source.currentResult, error is CancellationError else {
                    throw WrongResult(description: "an input was not cancelled")
                }
            }
        }
    }

    private static func task(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = Sink()
        try executor.run {
            for _ in 0..<iterations {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<size {
                        group.addTask {
                            let waiting = Waiting<UnsafeContinuation<Void, Never>>()
                            await withTaskCancellationHandler {
                                await withUnsafeContinuation { waiting.leave($0) }
                            } onCancel: {
                                waiting.next()?.resume()
                            }
                            sink.add(1)
                        }
                    }
                    // Lets the children run up to where they wait.
                    await Task(executorPreference: executor) {}.value
                    stopwatch.start()
                    group.cancelAll()
                    await group.waitForAll()
                    stopwatch.stop()
                }
            }
        }
        try check(sink.total, is: size * iterations)
    }
}
