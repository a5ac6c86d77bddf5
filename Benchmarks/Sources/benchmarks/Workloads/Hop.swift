import Deferred
import Dispatch

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
import OpenCombineDispatch
#endif

/// W8: a callback on another queue, on one processor.
///
/// A round trip: the callback, on the queue's thread, signals a semaphore for which this thread waits, before
/// the next round begins. NIO hops to its own event loop instead of a queue.
enum HopRoundTrip<Value: BenchmarkValue> {
    static func workload() -> Workload {
        Workload(
            "W8", "hop to a queue and back", per: "round trip", payload: Value.title,
            target: Target(limit: 1.15, peer: .dispatch), onOneProcessor: true, hasExactAllocations: false
        ) {
            Hop<Value>.contenders(hop)
        }
    }

    private static func hop(
        _ library: Library,
        _ start: @escaping Hop<Value>.Start
    ) -> Contender {
        Contender(library, .elapsed) { iterations, stopwatch in
            let sink = ValueSink()
            let value = opaque(Value.make(7))
            let queue = DispatchQueue(label: "benchmarks.hop")
            let arrived = DispatchSemaphore(value: 0)
            stopwatch.start()
            for _ in 0..<iterations {
                start(queue, value) { value in
                    sink.add(value.number)
                    arrived.signal()
                }
                arrived.wait()
            }
            stopwatch.stop()
            try check(sink.total, is: 7 * iterations)
        }
    }
}

/// W8p: as ``HopRoundTrip``, but 1,000 are submitted before the first of them runs.
///
/// A blocking work item, submitted first, delays them until all are submitted; otherwise the number of
/// switches between the two threads would depend on the scheduler. (A Swift task starts on the shared pool,
/// so part of its work is done before.)
enum HopPipelined<Value: BenchmarkValue> {
    static var batch: Int { 1_000 }

    static func workload() -> Workload {
        Workload(
            "W8p", "hop to a queue, pipelined", per: "hop", payload: Value.title,
            target: Target(limit: 2.3, peer: .dispatch, floor: 1.75), onOneProcessor: true,
            hasExactAllocations: false
        ) {
            Hop<Value>.contenders(hops)
        }
    }

    private static func hops(
        _ library: Library,
        _ start: @escaping Hop<Value>.Start
    ) -> Contender {
        Contender(library, .elapsed, items: batch) { iterations, stopwatch in
            let sink = ValueSink()
            let value = opaque(Value.make(7))
            let queue = DispatchQueue(label: "benchmarks.hops")
            let arrived = DispatchSemaphore(value: 0)
            // One item at a time on the queue; the last item wakes this thread.
            let callback: @Sendable (Value) -> Void = { value in
                sink.add(value.number)
                if sink.count % batch == 0 { arrived.signal() }
            }
            stopwatch.start()
            for _ in 0..<iterations {
                let plug = DispatchSemaphore(value: 0)
                switch library {
                #if Peers
                case .threaded: EventLoops.threaded.execute { plug.wait() }
                #endif
                case .task: QueueActor.queue.async { plug.wait() }
                default: queue.async { plug.wait() }
                }
                for _ in 0..<batch { start(queue, value, callback) }
                plug.signal()
                arrived.wait()
            }
            stopwatch.stop()
            try check(sink.total, is: 7 * batch * iterations)
        }
    }
}

/// How each library calls a closure with a value on another queue.
private enum Hop<Value: BenchmarkValue> {
    typealias Start = (DispatchQueue, Value, @escaping @Sendable (Value) -> Void) -> Void

    @ContenderList
    static func contenders(_ contender: (Library, @escaping Start) -> Contender) -> [Contender] {
        contender(.deferred) { queue, value, callback in
            Deferred.resolved(value).done(on: queue) { callback($0) }
        }
        contender(.dispatch) { queue, value, callback in
            queue.async { callback(value) }
        }
        #if Peers
        contender(.threaded) { _, value, callback in
            EventLoops.threaded.execute { callback(value) }
        }
        contender(.openCombine) { queue, value, callback in
            Future<Value, Never> { $0(.success(value)) }
                .receive(on: queue.ocombine)
                .subscribe(
                    Subscribers.Sink(receiveCompletion: { _ in }, receiveValue: { callback($0) }))
        }
        #endif
        // An actor whose executor is a queue.
        contender(.task) { _, value, callback in
            Task { await QueueActor.shared.run { callback(value) } }
        }
    }
}

private actor QueueActor {
    static let queue = DispatchQueue(label: "benchmarks.actor")
    static let shared = QueueActor()
    private static let executor = QueueExecutor(queue: queue)

    nonisolated var unownedExecutor: UnownedSerialExecutor { Self.executor.asUnownedSerialExecutor() }

    func run(_ body: @Sendable () -> Void) { body() }
}

private final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(queue: DispatchQueue) {
        self.queue = queue
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
