import Deferred
import Foundation
import TestSupport
import Testing

@testable import DeferredTesting

@Suite("ManualClock", .watchdog)
struct ManualClockTests {
    let clock = ManualClock()
    let log = SharedLog<Int>()

    @Test("work due at the same time runs in the order scheduled, among a thousand")
    func tiesKeepOrder() {
        for number in 0..<1000 { _ = clock.dispatch(after: .seconds(1)) { [log] in log.add(number) } }
        clock.advance(by: .seconds(1))
        #expect(log.all == Array(0..<1000))
    }

    @Test("work that schedules more work within the span has it run too, at its own time")
    func runsWhatWorkSchedules() {
        _ = clock.dispatch(after: .seconds(1)) { [clock, log] in
            log.add(Int(clock.now.offset.components.seconds))
            _ = clock.dispatch(after: .seconds(1)) {
                log.add(Int(clock.now.offset.components.seconds))
            }
        }
        clock.advance(by: .seconds(5))
        #expect(log.all == [1, 2])
        #expect(clock.now.offset == .seconds(5))
    }

    @Test("many scheduled and cancelled leave nothing behind, and the rest in order")
    func manyCancelled() {
        var works: [any DelayedWork] = []
        for number in 0..<10_000 {
            works.append(
                clock.dispatch(after: .milliseconds(number * 7919 % 10_000)) { [log] in log.add(number) })
        }
        for number in 0..<10_000 where number % 100 != 0 { works[number].cancel() }
        #expect(clock.scheduled.count == 100)
        clock.advance(by: .seconds(10))
        #expect(log.all == (0..<100).map { $0 * 100 }.sorted { $0 * 7919 % 10_000 < $1 * 7919 % 10_000 })
    }

    @Test("its description says what is scheduled and when")
    func describesItself() {
        #expect(clock.description == "ManualClock at 0.0 seconds, nothing scheduled")
        _ = clock.dispatch(after: .seconds(2)) {}
        clock.advance(by: .seconds(1))
        #expect(clock.description == "ManualClock at 1.0 seconds, 1 scheduled: in 1.0 seconds")
        #expect(clock.scheduled == [.seconds(1)])
    }

    @Test("a Task that sleeps on it is resumed by advance")
    func sleeps() async throws {
        let sleeping = Task { [clock] in
            try await clock.sleep(for: .seconds(3))
            return clock.now.offset
        }
        try await clock.whenScheduled().value
        #expect(clock.description.hasSuffix("1 scheduled: in 3.0 seconds"))
        clock.advance(by: .seconds(3))
        #expect(try await sleeping.value == .seconds(3))
    }

    @Test("a cancelled Task stops sleeping at once, also if it was cancelled before it slept")
    func cancelledSleep() async throws {
        let sleeping = Task { [clock] in try await clock.sleep(for: .seconds(3)) }
        try await clock.whenScheduled().value
        sleeping.cancel()
        await #expect(throws: CancellationError.self) { try await sleeping.value }
        #expect(clock.scheduled.isEmpty)

        let gate = Deferred<Void>()
        let late = Task { [clock] in
            _ = await gate.result
            try await clock.sleep(for: .seconds(3))
        }
        late.cancel()
        gate.resolve()
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(clock.scheduled.isEmpty)
    }

    @Test("T1: a Task that is cancelled as soon as its sleep is scheduled leaves nothing scheduled")
    func cancelledWhenScheduled() async {
        // The callback runs before `sleep` suspends its Task.
        clock.whenScheduled().done { withUnsafeCurrentTask { $0?.cancel() } }
        let sleeping = Task { [clock] in try await clock.sleep(for: .seconds(3)) }
        await #expect(throws: CancellationError.self) { try await sleeping.value }
        #expect(clock.scheduled.isEmpty)
    }

    @Test("advanceToNext runs the work that is due next, and returns whether there was any")
    func toNext() {
        for delay in [3, 1, 1] { _ = clock.dispatch(after: .seconds(delay)) { [log] in log.add(delay) } }
        clock.dispatch(after: .milliseconds(1)) {}.cancel()
        #expect(clock.advanceToNext())
        #expect(log.all == [1, 1] && clock.now.offset == .seconds(1))
        #expect(clock.advanceToNext())
        #expect(log.all == [1, 1, 3] && clock.now.offset == .seconds(3))
        #expect(!clock.advanceToNext())
        #expect(clock.now.offset == .seconds(3))
    }

    @Test("advanceUntilIdle runs until nothing is left, also what the work schedules")
    func untilIdle() {
        @Sendable func schedule(_ count: Int) {
            guard count > 0 else { return }
            _ = clock.dispatch(after: .seconds(count)) { [log] in
                log.add(count)
                schedule(count - 1)
            }
        }
        schedule(4)
        #expect(clock.advanceUntilIdle())
        #expect(log.all == [4, 3, 2, 1] && clock.now.offset == .seconds(10))
        #expect(clock.advanceUntilIdle())
        #expect(clock.now.offset == .seconds(10))
    }

    @Test("advanceUntilIdle runs what is due exactly at its limit; negative limits and amounts count as zero")
    func limits() {
        for delay in [0, 5, 6] { _ = clock.dispatch(after: .seconds(delay)) { [log] in log.add(delay) } }
        clock.advance(by: .seconds(-5))
        #expect(log.all == [0] && clock.now.offset == .zero)
        #expect(!clock.advanceUntilIdle(atMost: .seconds(-1)))
        #expect(!clock.advanceUntilIdle(atMost: .seconds(5)))
        #expect(log.all == [0, 5] && clock.now.offset == .seconds(5))
        clock.advance(by: .seconds(-5))
        #expect(clock.now.offset == .seconds(5))
        #expect(clock.advanceUntilIdle(atMost: .seconds(1)))
        #expect(log.all == [0, 5, 6])
    }

    @Test("work without a delay that schedules itself is no endless loop: 100,000 runs at each moment")
    func endlessLoop() {
        let (count, isEnded) = (SpinLocked(0), SpinLocked(false))
        @Sendable func again() {
            count.withLock { $0 += 1 }
            if !isEnded.withLock({ $0 }) { _ = clock.dispatch(after: .zero, again) }
        }
        again()
        _ = clock.dispatch(after: .seconds(1)) { [log] in log.add(1) }
        clock.advance(by: .seconds(2))
        #expect(count.withLock { $0 } == 200_003, "at 0 and at 1 second")
        #expect(log.all == [1] && clock.elapsed == .seconds(2) && clock.scheduled == [.zero])
        #expect(!clock.advanceUntilIdle(atMost: .seconds(5)))
        #expect(count.withLock { $0 } == 300_004 && clock.elapsed == .seconds(7))
        isEnded.withLock { $0 = true }
        #expect(clock.advanceToNext() && !clock.advanceToNext())
        #expect(clock.advanceUntilIdle() && clock.elapsed == .seconds(7))
    }

    @Test("the time never goes back, though due work advances the clock further than its caller does")
    func neverBack() {
        let times = SharedLog<Duration>()
        for delay in [1, 2, 3] {
            _ = clock.dispatch(after: .seconds(delay)) { [clock] in
                times.add(clock.elapsed)
                if delay == 1 { clock.advance(by: .seconds(10)) }
                _ = clock.dispatch(after: .zero) { times.add(clock.elapsed) }
            }
        }
        clock.advance(by: .seconds(2))
        #expect(clock.elapsed == .seconds(11) && times.all == times.all.sorted() && times.all.count == 5)
    }

    @Test("a sleep until a time that has passed returns")
    func sleepUntilPast() async throws {
        clock.advance(by: .seconds(2))
        try await clock.sleep(until: ManualClock.Instant(offset: .seconds(1)))
    }

    @Test("K2: what is cancelled leaves the clock: work, and who waits for work to be scheduled")
    func cancelledLeaves() {
        let clock = ManualClock()
        let watchers = (0..<100).map { _ in clock.whenScheduled(1_000) }
        let timers = (0..<100).map { Deferred.after(.seconds($0), timer: clock) }
        #expect(clock.schedule.withLock { $0.watcherCount } == 100)
        for watcher in watchers { watcher.cancel() }
        for timer in timers.shuffled() { timer.cancel() }
        #expect(clock.schedule.withLock { $0.watcherCount } == 0)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("K1: work that is added and cancelled at random runs as a sorted list says", arguments: 0..<10)
    func randomWork(seed: Int) {
        var random = Numbers(state: UInt64(seed))
        let (clock, ran) = (ManualClock(), SharedLog<Int>())
        var pending: [(due: Int, number: Int, work: any DelayedWork)] = []
        var expected: [Int] = []
        for number in 0..<500 {
            switch random.next() % 8 {
            case 0:
                clock.advance(by: .seconds(1))
                pending = pending.map { ($0.due - 1, $0.number, $0.work) }
                expected += pending.filter { $0.due <= 0 }.sorted {
                    ($0.due, $0.number) < ($1.due, $1.number)
                }
                .map(\.number)
                pending.removeAll { $0.due <= 0 }
            case 1, 2:
                guard let place = pending.indices.randomElement(using: &random) else { continue }
                pending.remove(at: place).work.cancel()
            default:
                let due = Int(random.next() % 5)
                pending.append((due, number, clock.dispatch(after: .seconds(due)) { ran.add(number) }))
            }
            #expect(ran.all == expected && clock.scheduled.count == pending.count, "seed \(seed)")
        }
    }
}

/// The same numbers in each run.
private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33 | state << 31
    }
}
