import Deferred
import Dispatch
import Foundation
import Synchronization

import struct Deferred.Deferred

#if Peers
import NIOCore
import OpenCombine
#endif

/// W9: two threads attach 100,000 callbacks each to one pending result while a third resolves it.
///
/// The three threads start together; the third resolves when the first has attached half of its callbacks.
/// The clock stops when every callback has run, each exactly once; the callbacks add to an atomic counter.
enum Contention<Value: BenchmarkValue> {
    static var attachmentsPerThread: Int { 100_000 }
    static var items: Int { 2 * attachmentsPerThread }

    static func workload() -> Workload {
        Workload(
            "W9", "2 threads attach 100,000 each while a third completes", per: "callback",
            payload: Value.title,
            target: Target(limit: 0.35, peer: .threaded), hasExactAllocations: false
        ) {
            contender(.deferred) { value, ran in
                let source = Deferred<Value>()
                return AttachingRace {
                    source.done { ran.add($0) }
                } complete: {
                    source.resolve(value)
                }
            }
            #if Peers
            contender(.threaded) { value, ran in
                let source = EventLoops.threaded.makePromise(of: Value.self)
                return AttachingRace {
                    source.futureResult.whenSuccess { ran.add($0) }
                } complete: {
                    source.succeed(value)
                }
            }
            contender(.openCombine) { value, ran in
                let source = Shared(Waiting<Future<Value, Never>.Promise>())
                let future = Shared(Future<Value, Never> { source.value.leave($0) })
                return AttachingRace {
                    future.value.subscribe(
                        Subscribers.Sink(receiveCompletion: { _ in }, receiveValue: { ran.add($0) }))
                } complete: {
                    source.value.next()?(.success(value))
                }
            }
            #endif
            contender(.task) { value, ran in
                let (stream, source) = AsyncStream.makeStream(of: Value.self)
                let task = Task {
                    for await value in stream { return value }
                    return value
                }
                return AttachingRace {
                    Task { ran.add(await task.value) }
                } complete: {
                    source.yield(value)
                    source.finish()
                }
            }
            contender(.dispatch) { value, ran in
                let queue = DispatchQueue(label: "benchmarks.contention")
                let group = DispatchGroup()
                group.enter()
                return AttachingRace {
                    group.notify(queue: queue) { ran.add(value) }
                } complete: {
                    group.leave()
                }
            }
        }
    }

    private static func contender(
        _ library: Library, _ prepare: @escaping (Value, CallbackCounter) -> AttachingRace
    ) -> Contender {
        Contender(library, .elapsed, items: items) { iterations, stopwatch in
            // A sample is one race; the sampler never asks for more of a workload this long.
            for _ in 0..<iterations {
                let ran = CallbackCounter(expected: items)
                let race = prepare(opaque(Value.make(7)), ran)
                race.run(attachmentsPerThread, stopwatch, until: ran)
                try check(ran.total, is: 7 * items)
                try check(ran.count, is: items, "the number of callbacks that ran")
            }
        }
    }
}

/// Counts callbacks from any thread and waits for the last.
private final class CallbackCounter: Sendable {
    private let expected: Int
    private let counter = Atomic<Int>(0)
    private let sum = Atomic<Int>(0)
    private let all = DispatchSemaphore(value: 0)

    init(expected: Int) {
        self.expected = expected
    }

    var count: Int { counter.load(ordering: .acquiring) }
    var total: Int { sum.load(ordering: .acquiring) }

    func add(_ value: some BenchmarkValue) {
        sum.add(value.number, ordering: .relaxed)
        if counter.add(1, ordering: .acquiringAndReleasing).newValue == expected { all.signal() }
    }

    func wait() { all.wait() }
}

/// The work of the three threads.
private struct AttachingRace: Sendable {
    let attach: @Sendable () -> Void
    let complete: @Sendable () -> Void

    init(attach: @escaping @Sendable () -> Void, complete: @escaping @Sendable () -> Void) {
        self.attach = attach
        self.complete = complete
    }

    func run(_ attachments: Int, _ stopwatch: Stopwatch, until arrivals: CallbackCounter) {
        let gate = StartBarrier()
        let halfway = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            gate.pass()
            for attached in 0..<attachments {
                if attached == attachments / 2 { halfway.signal() }
                attach()
            }
        }
        Thread.detachNewThread {
            gate.pass()
            for _ in 0..<attachments { attach() }
        }
        Thread.detachNewThread {
            gate.pass()
            halfway.wait()
            complete()
        }
        gate.open(for: 3, stopwatch)
        arrivals.wait()
        stopwatch.stop()
    }
}

/// Releases all waiting threads at the same time.
private final class StartBarrier: Sendable {
    private let waiting = Atomic<Int>(0)
    private let isOpen = Atomic<Bool>(false)

    func pass() {
        waiting.add(1, ordering: .acquiringAndReleasing)
        while !isOpen.load(ordering: .acquiring) { sched_yield() }
    }

    func open(for count: Int, _ stopwatch: Stopwatch) {
        while waiting.load(ordering: .acquiring) < count { sched_yield() }
        stopwatch.start()
        isOpen.store(true, ordering: .releasing)
    }
}

#if Peers
/// Carries OpenCombine's types, which are thread-safe but not marked as `Sendable`, to other threads.
///
/// Sound as `@unchecked Sendable`: `Future` uses a lock, and the promise is stored before the threads start
/// and read by one of them.
private struct Shared<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
#endif
