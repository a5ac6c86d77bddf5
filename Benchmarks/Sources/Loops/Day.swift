import AllocationCounter
import Comparing
import Deferred
import DeferredTesting
import Foundation
import Multicast
import StepCounter

/// A service that has run for a day: requests in virtual time, each through a cache, a semaphore, a time limit, retries, a
/// queue with workers and a channel, all of which live as long as the program.
struct Day {
    /// How many requests there are.
    let count: Int

    private struct Unavailable: Error {}
    private final class Console: Sendable {}

    /// What a tenth of the day takes for each request.
    private struct Tenth {
        let nanoseconds: Double
        let steps: Double
        let live: Int64
    }

    /// Returns whether the last tenth of the day is as the second is. (In the first, tables grow.)
    func run() -> Bool {
        let clock = ManualClock()
        let pages = DeferredCache<Int, Int>(keepingFor: .seconds(5), timer: clock)
        let connections = DeferredSemaphore(16)
        let events = DeferredQueue<Int>(size: 1000)
        let answered = BroadcastChannel<Int>()
        let console = Console()
        let workers = (0..<4).map { _ in
            events.run { _ in Deferred.after(.milliseconds(1), timer: clock) }
        }
        answered.listen(console) { _ in }

        @Sendable func load(_ page: Int, _ request: Int) -> Deferred<Int> {
            Deferred.retry(attempts: 3, delay: .constant(.milliseconds(2)), timer: clock) { attempt in
                connections.run {
                    // One in 16 fails at first; one in 64 never answers.
                    Deferred.after(
                        .milliseconds(request % 64 == 7 ? 1_000_000 : 3), timer: clock, value: page
                    ).map {
                        if request % 16 == 3, attempt == 1 { throw Unavailable() }
                        return $0
                    }
                }
                .timeout(.milliseconds(20), timer: clock)
            }
        }

        allocation_counting_start()
        print("| requests | bytes on the heap | steps a request | ns a request |\n|---:|---:|---:|---:|")
        var tenths: [Tenth] = []
        for part in 0..<10 {
            let (start, steps) = (Timebase.thread.now, step_counting_read())
            for number in 0..<(count / 10) {
                let request = part * (count / 10) + number
                // 500 pages of which each is asked for again while it is kept; and some that few ask for.
                let page = request % 3 == 0 ? request % 100_000 : request % 500
                let answer = pages.value(for: page) { load(page, request) }
                answer.done { answered.post($0) }
                    .fail { _ in }
                if request % 32 == 5 { answer.cancel() }
                events.send(request).fail { _ in }
                clock.advance(by: .microseconds(500))
            }
            // Between the days of a service there is a night.
            clock.advance(by: .seconds(20))
            let each = 1 / Double(count / 10)
            tenths.append(
                Tenth(
                    nanoseconds: Double(Timebase.thread.now - start) * each,
                    steps: Double(step_counting_read() - steps) * each, live: allocation_counting_read().live)
            )
            let last = tenths[part]
            print(
                "| \((part + 1) * (count / 10)) | \(last.live) | \(String(format: "%.1f", last.steps)) | "
                    + "\(Int(last.nanoseconds)) |")
        }
        withExtendedLifetime((workers, console)) {}
        let (early, late) = (tenths[1], tenths[9])
        let memoryIsEqual = abs(late.live - early.live) < max(4096, early.live / 50)
        let stepsAreEqual = abs(late.steps - early.steps) <= early.steps / 50
        print("\n\(memoryIsEqual && stepsAreEqual ? "1 passed, 0 failed" : "0 passed, 1 failed")")
        return memoryIsEqual && stepsAreEqual
    }
}
