import Deferred
import DeferredTesting
import Dispatch
import Foundation
import Synchronization

/// Completes Deferreds with values that are given back if nobody receives them, and cancels their consumers on another
/// thread.
final class ValueRun: Sendable {
    let received = Tally()
    let returned = Tally()
    let clock = ManualClock()
    let workers = DispatchQueue(label: "workers")
    private let way: ValueWay
    private let count: Int
    private let isOver = Atomic(false)
    private let live = Atomic(0)
    private let consumers = Ring<@Sendable () -> Void>(32)

    init(_ way: ValueWay, _ count: Int) { (self.way, self.count) = (way, count) }

    var receive: @Sendable (Int) -> Void { { [received] in received.add($0) } }
    var giveBack: @Sendable (Int) -> Void { { [returned] in returned.add($0) } }
    func begin() { live.add(1, ordering: .relaxed) }
    func end() { live.subtract(1, ordering: .relaxed) }

    func run() async -> Outcome {
        let made = Tally()
        let threads = DispatchGroup()
        Thread.detachNewThread(in: threads) { [self] in
            for number in 0..<count {
                made.add(number)
                while live.load(ordering: .relaxed) > 1000 { sched_yield() }
                let (cancel, complete) = way.make(self, number)
                consumers.exchange(cancel, at: number)?()
                complete()
            }
            isOver.store(true, ordering: .releasing)
        }
        Thread.detachNewThread(in: threads) { [self] in
            var chance = Chance(UInt64(count))
            while !isOver.load(ordering: .acquiring) {
                consumers[chance.below(consumers.size)]?()
                if way.usesClock, chance.below(8) == 0 { clock.advance(by: .seconds(1)) }
                for _ in 0..<chance.below(20) where chance.below(2) == 0 { sched_yield() }
            }
        }
        await wait(for: threads)
        for index in 0..<consumers.size { _ = consumers.exchange(nil, at: index) }
        clock.advance(by: .seconds(10))
        while live.load(ordering: .acquiring) > 0 { await Task.yield() }
        for _ in 0..<10_000 where received.total.count + returned.total.count < count {
            try? await Task.sleep(for: .milliseconds(1))
        }
        return Outcome(made: made.total, received: received.total, rest: returned.total)
    }
}

/// A way in which a value is completed, and in which its consumer ends.
struct ValueWay: Sendable {
    let name: String
    private(set) var usesClock = false
    /// Attaches a consumer to a Deferred, and returns what cancels that, and what completes the Deferred.
    let make: @Sendable (ValueRun, Int) -> (cancel: @Sendable () -> Void, complete: @Sendable () -> Void)

    private init(
        _ name: String, usesClock: Bool = false, completesFirst: Bool = false,
        _ attach: @escaping @Sendable (ValueRun, Deferred<Int>) -> Deferred<Void>
    ) {
        self.name = name
        self.usesClock = usesClock
        make = { run, number in
            let (deferred, resolver) = Deferred<Int>.withResolver()
            @Sendable func complete() { resolver.resolve(number, onUndelivered: run.giveBack) }
            if completesFirst { complete() }
            let end = attach(run, deferred)
            end.fail { _ in }
            return (cancel: { end.cancel() }, complete: { if !completesFirst { complete() } })
        }
    }

    private init(
        made name: String, _ make: @escaping @Sendable (ValueRun, Int) -> Deferred<Void>
    ) {
        self.name = name
        self.make = { run, number in
            let end = make(run, number)
            end.fail { _ in }
            return (cancel: { end.cancel() }, complete: {})
        }
    }

    private static func opened(
        _ run: ValueRun, _ operation: @escaping @Sendable () async -> Int
    ) -> Deferred<Int> {
        Deferred(onUndelivered: run.giveBack) { () async throws -> Int in
            defer { run.end() }
            return await operation()
        }
    }

    static let all: [ValueWay] = [
        ValueWay("resolve, cancelled") { (run: ValueRun, it: Deferred<Int>) -> Deferred<Void> in
            it.done(run.receive)
        },
        ValueWay("resolve, cancelled on a dispatch queue") {
            (run: ValueRun, it: Deferred<Int>) -> Deferred<Void> in
            it.done(on: run.workers, run.receive)
        },
        ValueWay("resolve, timed out", usesClock: true) {
            (run: ValueRun, it: Deferred<Int>) -> Deferred<Void> in
            let passed: Deferred<Int> = it.recover { throw $0 }
            return passed.timeout(.seconds(1), timer: run.clock).done(run.receive)
        },
        ValueWay("resolve, timed out on a dispatch queue", usesClock: true) {
            (run: ValueRun, it: Deferred<Int>) -> Deferred<Void> in
            it.done(on: run.workers, run.receive).timeout(.seconds(1), timer: run.clock)
        },
        ValueWay("resolve, shielded, followed, nested") {
            (run: ValueRun, it: Deferred<Int>) -> Deferred<Void> in
            let (other, resolver) = Deferred<Int>.withResolver()
            resolver.follow(it.shielded())
            return Deferred<Int>.resolved(0).then { _ in other }.always { _ in }.done(run.receive)
        },
        ValueWay("resolve, then cancelled on a dispatch queue", completesFirst: true) {
            (run: ValueRun, it: Deferred<Int>) -> Deferred<Void> in
            it.always(on: run.workers) { _ in }.done(on: run.workers, run.receive)
        },
        ValueWay(made: "resolved, cancelled on a dispatch queue") {
            (run: ValueRun, number: Int) -> Deferred<Void> in
            let value = Deferred<Int>.resolved(number, onUndelivered: run.giveBack)
            return value.shielded().done(on: run.workers, run.receive)
        },
        ValueWay(made: "operation, cancelled") { (run: ValueRun, number: Int) -> Deferred<Void> in
            run.begin()
            let value = opened(run) { number }
            return value.done(run.receive)
        },
        ValueWay(made: "operation, cancelled on a dispatch queue") {
            (run: ValueRun, number: Int) -> Deferred<Void> in
            run.begin()
            let value = opened(run) {
                await Task.yield()
                return number
            }
            return value.done(on: run.workers, run.receive)
        },
    ]
}
