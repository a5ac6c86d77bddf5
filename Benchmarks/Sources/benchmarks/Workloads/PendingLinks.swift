import Deferred

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// M1: the cost of creating and keeping a pending link. A chain of 1,000 links is built, and resolved only
/// after the clock has stopped. "Live bytes" is the memory of each waiting link.
enum PendingLinks<Value: BenchmarkValue> {
    static var length: Int { 1_000 }
    static var shortLength: Int { 100 }

    static func workload() -> Workload {
        Workload(
            "M1", "chain of 1,000 built, pending", per: "link", payload: Value.title
        ) {
            Contender(.deferred, items: length, sized: deferred)
            #if Peers
            Contender.embedded(items: length) { try nio($0, $1, $2) }
            Contender(.openCombine, items: shortLength, body: openCombine)
            #endif
        }
    }

    private static func deferred(_ length: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let sources = (0..<iterations).map { _ in Deferred<Value>() }
        var ends: [Deferred<Value>] = []
        ends.reserveCapacity(iterations)
        stopwatch.start()
        for source in sources {
            var end = source
            for _ in 0..<length {
                end = end.map { $0.next() }
            }
            ends.append(end)
        }
        stopwatch.stop()
        for (source, end) in zip(sources, ends) {
            end.done { sink.add($0.number) }
            source.resolve(Value.make(0))
        }
        try check(sink.total, is: length * iterations)
    }

    #if Peers
    private static func nio(_ loop: any EventLoop, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let sources = (0..<iterations).map { _ in loop.makePromise(of: Value.self) }
        var ends: [EventLoopFuture<Value>] = []
        ends.reserveCapacity(iterations)
        stopwatch.start()
        for source in sources {
            var end = source.futureResult
            for _ in 0..<length {
                end = end.map { $0.next() }
            }
            ends.append(end)
        }
        stopwatch.stop()
        for (source, end) in zip(sources, ends) {
            end.whenSuccess { sink.add($0.number) }
            source.succeed(Value.make(0))
        }
        try check(sink.total, is: length * iterations)
    }

    /// Subscribed, because nothing waits in OpenCombine before that.
    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        let sink = ValueSink()
        let waiting = Waiting<Future<Value, Never>.Promise>()
        let sources = (0..<iterations).map { _ in Future<Value, Never> { waiting.append($0) } }
        stopwatch.start()
        for source in sources {
            var end = source.eraseToAnyPublisher()
            for _ in 0..<shortLength {
                end = end.map { $0.next() }.eraseToAnyPublisher()
            }
            end.subscribe(
                Subscribers.Sink(receiveCompletion: { _ in }, receiveValue: { sink.add($0.number) }))
        }
        stopwatch.stop()
        for complete in waiting.all { complete(.success(Value.make(0))) }
        try check(sink.total, is: shortLength * iterations)
    }
    #endif
}
