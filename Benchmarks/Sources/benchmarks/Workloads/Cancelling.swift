import Deferred

import struct Deferred.Deferred

#if Peers
import OpenCombine
#endif

/// C1: `cancel()` on the end of a chain of 100,000 pending links.
///
/// The cancel passes up to the source, whose failure passes down all the links. Building the chain is not
/// timed. The only peer that can cancel a chain is OpenCombine, with 100 links.
enum CancelledChain<Value: BenchmarkValue> {
    static var length: Int { 100_000 }
    static var shortLength: Int { 100 }

    static func workload() -> Workload {
        Workload(
            "C1", "cancel a chain of 100,000", per: "link", payload: Value.title
        ) {
            Contender(.deferred, items: length, sized: deferred)
            #if Peers
            Contender(.openCombine, items: shortLength, body: openCombine)
            #endif
        }
    }

    static func deferred(_ length: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        for _ in 0..<iterations {
            let sink = ValueSink()
            let source = Deferred<Value>()
            var end = source
            for _ in 0..<length {
                end = end.map { $0.next() }
            }
            let last = end.fail { error in sink.add(error is CancellationError ? 1 : 0) }
            stopwatch.start()
            last.cancel()
            stopwatch.stop()
            try check(sink.total, is: 1)
        }
    }

    #if Peers
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
    #endif
}

/// C2: `cancel()` of a list of 100,000 pending inputs, each of which is cancelled.
///
/// Swift concurrency: a task group of 100,000 children, each waiting for a continuation that its cancellation
/// handler resumes; the measured part is `cancelAll()` and the end of the children.
enum CancelledList<Value: BenchmarkValue> {
    static var size: Int { 100_000 }

    static func workload() -> Workload {
        Workload(
            "C2", "cancel a list of 100,000", per: "input", payload: Value.title
        ) {
            Contender(.deferred, items: size, sized: deferred)
            Contender.concurrent(.task, items: size, task)
        }
    }

    static func deferred(_ size: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        for _ in 0..<iterations {
            let sink = ValueSink()
            let sources = (0..<size).map { _ in Deferred<Value>() }
            let values = DeferredList(sources).values()
            values.fail { error in sink.add(error is CancellationError ? 1 : 0) }
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
        let sink = ValueSink()
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
                    // Runs the children up to the point where they wait.
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
