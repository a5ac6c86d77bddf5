import Deferred

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// W10: releases a pending chain that was never completed.
///
/// Building the chain is not timed; releasing its two ends is. The sizes differ because not all peers survive
/// the longest. NIO is not measured: it leaks, and traps in debug builds.
enum Dropping<Value: BenchmarkValue> {
    static var length: Int { 1_000_000 }
    /// The longest chain that OpenCombine's recursion is known to survive; PEERS.md saw it overflow the stack
    /// at 1,000.
    static var shortLength: Int { 100 }

    static func workload() -> Workload {
        Workload(
            "W10", "1,000,000 pending links dropped", per: "link", payload: Value.title
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
            var source: Deferred<Value>? = Deferred<Value>()
            var end = source
            for _ in 0..<length {
                end = end?.map { $0.next() }
            }
            // The chain fails with `.abandoned`.
            end?.fail { error in sink.add(error as? DeferredError == .abandoned ? 1 : 0) }
            end = nil
            stopwatch.start()
            source = nil
            stopwatch.stop()
            try check(sink.total, is: 1)
        }
    }

    #if Peers
    private static func openCombine(_ iterations: Int, _ stopwatch: Stopwatch) throws {
        var chains: [(Future<Value, Never>, AnyCancellable)] = []
        for _ in 0..<iterations {
            let source = Future<Value, Never> { _ in }
            var end = source.eraseToAnyPublisher()
            for _ in 0..<shortLength {
                end = end.map { $0.next() }.eraseToAnyPublisher()
            }
            chains.append((source, end.sink { _ in }))
        }
        stopwatch.start()
        chains.removeAll()
        stopwatch.stop()
    }
    #endif
}
