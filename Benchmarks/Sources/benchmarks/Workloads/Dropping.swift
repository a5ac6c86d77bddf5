import Deferred
import NIOCore
import OpenCombine

import struct Deferred.Deferred

/// W10: a pending chain let go of, unfired.
///
/// Building the chain is not timed; letting go of its two ends is. The sizes differ because peers don't all
/// survive the longest. NIO takes no part: what it does here is leak, and trap in debug builds.
enum Dropping<Value: Payload> {
    static var length: Int { 1_000_000 }
    /// As far as OpenCombine's recursion is sure to get; PEERS.md saw it overflow the stack at 1,000.
    static var shortLength: Int { 100 }

    static func workload() -> Workload {
        Workload(
            "W10", "1,000,000 pending links dropped", per: "link", payload: Value.title,
            contenders: [
                Contender(.deferred, items: length) { try deferred(length, $0, $1) },
                Contender(.openCombine, items: shortLength, body: openCombine),
            ])
    }

    static func deferred(_ length: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws {
        for _ in 0..<iterations {
            let sink = Sink()
            var source: Deferred<Value>? = Deferred<Value>()
            var end = source
            for _ in 0..<length {
                end = end?.then { $0.next() }
            }
            // Told that nothing can fire it any more.
            end?.fail { error in sink.add(error as? DeferredError == .abandoned ? 1 : 0) }
            end = nil
            stopwatch.start()
            source = nil
            stopwatch.stop()
            try check(sink.total, is: 1)
        }
    }

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
}
