import Deferred
import DeferredTesting
import Dispatch
import Foundation
import Synchronization

/// What the consumers of a queue share.
final class QueueRun: Sendable {
    let queue: DeferredQueue<Int>
    let received = Tally()
    let endedEarly = Atomic(0)
    let clock = ManualClock()
    let workers = DispatchQueue(label: "workers")
    let others = DispatchQueue(label: "others")
    let gate = DeferredSemaphore(4)
    private let way: QueueWay
    private let count: Int
    private let isOver = Atomic(false)
    /// The consumers that have not ended.
    private let live = Atomic(0)
    private let consumers: Ring<@Sendable () -> Void>

    init(_ way: QueueWay, _ count: Int) {
        self.way = way
        self.count = count
        queue = DeferredQueue(size: way.isRendezvous ? 0 : nil)
        consumers = Ring(way.outstanding)
    }

    /// Notes that a consumer has an element.
    var receive: @Sendable (Int) -> Void { { [received] in received.add($0) } }

    func consumerEnded(early: Bool) {
        if early { endedEarly.add(1, ordering: .relaxed) }
        live.subtract(1, ordering: .relaxed)
    }

    /// Puts the elements on one thread, starts consumers on another, and cancels them on a third.
    func run() async -> Outcome {
        let (made, sent) = (Tally(), Tally())
        for number in 0..<count { made.add(number) }
        let threads = DispatchGroup()
        Thread.detachNewThread(in: threads) { [self] in
            for number in 0..<count {
                if way.isRendezvous {
                    while queue.sendingCount > 16 { sched_yield() }
                    queue.send(number).done { sent.add(number) }
                } else {
                    while queue.count > 256 { sched_yield() }
                    try? queue.put(number)
                }
            }
            while way.isRendezvous, sent.total.count < count { sched_yield() }
            isOver.store(true, ordering: .releasing)
        }
        Thread.detachNewThread(in: threads) { [self] in
            var index = 0
            while !isOver.load(ordering: .acquiring) || queue.count > 0 {
                while live.load(ordering: .relaxed) >= way.outstanding, !isOver.load(ordering: .acquiring) {
                    sched_yield()
                }
                live.add(1, ordering: .relaxed)
                consumers.exchange(way.consume(self, index), at: index)?()
                index += 1
            }
        }
        Thread.detachNewThread(in: threads) { [self] in
            var chance = Chance(UInt64(count))
            while !isOver.load(ordering: .acquiring) {
                consumers[chance.below(consumers.size)]?()
                if way.usesClock { clock.advance(by: .seconds(1)) }
                for _ in 0..<chance.below(200) where chance.below(2) == 0 { sched_yield() }
            }
        }
        await wait(for: threads)
        for index in 0..<consumers.size { consumers.exchange(nil, at: index)?() }
        clock.advance(by: .seconds(10))
        // What is on its way on other threads.
        while live.load(ordering: .acquiring) > 0 { await Task.yield() }
        let rest = Tally()
        for _ in 0..<10_000 {
            while let number = queue.tryGet() { rest.add(number) }
            if received.total.count + rest.total.count >= count { break }
            try? await Task.sleep(for: .milliseconds(1))
        }
        return Outcome(
            made: way.isRendezvous ? sent.total : made.total, received: received.total, rest: rest.total,
            endedEarly: endedEarly.load(ordering: .relaxed),
            doubled: abs(made.total.count - (way.isRendezvous ? sent.total.count : made.total.count)))
    }
}

func wait(for group: DispatchGroup) async {
    await withCheckedContinuation { done in group.notify(queue: .global()) { done.resume() } }
}

/// A way in which the consumer of an element ends.
struct QueueWay: Sendable {
    let name: String
    private(set) var outstanding = 32
    private(set) var isRendezvous = false
    private(set) var usesClock = false
    /// Starts a consumer, and returns what cancels it.
    let consume: @Sendable (QueueRun, Int) -> @Sendable () -> Void

    /// - Parameter attach: Returns the end of a consumer, and what ends it early; nil for a cancel of the former.
    private init(
        _ name: String,
        _ attach:
            @escaping @Sendable (QueueRun, Int) -> (end: Deferred<Void>, cancel: (@Sendable () -> Void)?)
    ) {
        self.name = name
        consume = { run, index in
            let (end, cancel) = attach(run, index)
            end.both { result in
                if case .failure = result {
                    run.consumerEnded(early: true)
                } else {
                    run.consumerEnded(early: false)
                }
            }
            return cancel ?? { end.cancel() }
        }
    }

    private init(task name: String, _ body: @escaping @Sendable (QueueRun) async throws -> Void) {
        self.name = name
        outstanding = 8
        consume = { run, _ in
            let task = Task {
                do {
                    try await body(run)
                    run.consumerEnded(early: false)
                } catch {
                    run.consumerEnded(early: true)
                }
            }
            return { task.cancel() }
        }
    }

    private func with(_ change: (inout QueueWay) -> Void) -> QueueWay {
        var copy = self
        change(&copy)
        return copy
    }

    static let all: [QueueWay] = [
        QueueWay("cancelled") { run, _ in (run.queue.get().done(run.receive), nil) },
        QueueWay("cancelled behind recover, always, shielded") { run, _ in
            (run.queue.get().recover { throw $0 }.always { _ in }.shielded().done(run.receive), nil)
        },
        QueueWay("cancelled on a dispatch queue") { run, _ in
            (run.queue.get().done(on: run.workers, run.receive), nil)
        },
        QueueWay("cancelled between two dispatch queues") { run, _ in
            let passed = run.queue.get().recover(on: run.others) { throw $0 }.always(on: run.workers) { _ in }
            return (passed.done(on: run.others, run.receive), nil)
        },
        QueueWay("released by its dispatcher") { run, index in
            let got = run.queue.get()
            return (index % 2 == 0 ? got.done(on: Dropping(), run.receive) : got.done(run.receive), nil)
        },
        QueueWay("timed out") { run, _ in
            (run.queue.get().timeout(.seconds(1), timer: run.clock).done(run.receive), nil)
        }.with { $0.usesClock = true },
        QueueWay("timed out on a dispatch queue") { run, _ in
            let done = run.queue.get().done(on: run.workers, run.receive)
            return (done.timeout(.seconds(1), timer: run.clock), nil)
        }.with { $0.usesClock = true },
        QueueWay("paused") { run, index in
            let got = run.queue.get()
            got.pause()
            let end = got.done(run.receive)
            if index % 2 == 0 { got.unpause() }
            // Released, the handle would end the pause.
            return (end, { withExtendedLifetime(got) { end.cancel() } })
        },
        QueueWay("nested") { run, _ in
            (Deferred.resolved(0).then { _ in run.queue.get().shielded() }.done(run.receive), nil)
        },
        QueueWay("followed") { run, _ in
            let (deferred, resolver) = Deferred<Int>.withResolver()
            resolver.follow(run.queue.get())
            return (deferred.done(run.receive), nil)
        },
        // A list that is decided with an element has received it: so the inputs end early, and not the list.
        QueueWay("in first()") { run, index in
            let got = run.queue.get()
            let other: Deferred<Int> = index % 2 == 0 ? .resolved(-1) : .rejected(Failed())
            let first = DeferredList([got, other], cancelsRemaining: index % 3 == 0).first()
            return (first.done { if $0.value >= 0 { run.receive($0.value) } }, { got.cancel() })
        },
        QueueWay("in values() that fail") { run, index in
            if index % 2 == 0 { return (run.queue.get().done(run.receive), nil) }
            let other = Deferred<Int>()
            let values = DeferredList([run.queue.get(), other, run.queue.get()]).values()
            return (values.done { _ in }, { if !other.isSettled { other.reject(Failed()) } })
        },
        QueueWay("in a list with a limit") { run, _ in
            let inputs = (0..<2).map { _ in run.queue.get().shielded() }
            let list = DeferredList(inputs, limit: 1) { $0 }.first()
            return (list.done { run.receive($0.value) }, { for input in inputs { input.cancel() } })
        },
        QueueWay("in run of a semaphore") { run, _ in
            (run.gate.run { run.queue.get() }.done(run.receive), nil)
        },
        QueueWay("in run of a DeferredLatest") { run, _ in
            (DeferredLatest().run { run.queue.get() }.done(run.receive), nil)
        },
        QueueWay(task: "awaited") { run in run.receive(try await run.queue.get().value) },
        QueueWay(task: "awaited behind a timeout") { run in
            run.receive(try await run.queue.get().timeout(.seconds(1), timer: run.clock).value)
        }.with { $0.usesClock = true },
        QueueWay(task: "for await") { run in for try await number in run.queue { run.receive(number) } },
        QueueWay(task: "completed of a list") { run in
            for await (_, result) in DeferredList([run.queue.get(), run.queue.get()]).completed {
                run.receive(try result.get())
                break
            }
        },
        QueueWay("a worker") { run, _ in (run.queue.run(run.receive), nil) }.with { $0.outstanding = 2 },
        QueueWay("a worker with an asynchronous body") { run, _ in
            (run.queue.asyncRun { run.receive($0) }, nil)
        }.with { $0.outstanding = 2 },
        QueueWay("rendezvous, cancelled") { run, _ in (run.queue.get().done(run.receive), nil) }
            .with { $0.isRendezvous = true },
        QueueWay("rendezvous, cancelled on a dispatch queue") { run, _ in
            (run.queue.get().done(on: run.workers, run.receive), nil)
        }.with { $0.isRendezvous = true },
        QueueWay(task: "rendezvous, awaited") { run in run.receive(try await run.queue.get().value) }
            .with { $0.isRendezvous = true },
    ]
}

struct Failed: Error {}

/// Releases its work.
struct Dropping: Dispatcher {
    func dispatch(_ work: @escaping @Sendable () -> Void) {}
}

extension Thread {
    static func detachNewThread(in group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
        group.enter()
        detachNewThread {
            body()
            group.leave()
        }
    }
}
