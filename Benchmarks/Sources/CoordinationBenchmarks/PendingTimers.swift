import AllocationCounter
import Comparing
import Deferred
import DeferredTesting
import Dispatch
import Foundation

/// What timers take of the heap while they are pending, what is left of them once they are cancelled, and how
/// many threads there are meanwhile.
struct PendingTimers {
    let count: Int

    private static let delay = Duration.seconds(3600)

    func run() async {
        guard allocation_counting_is_available() else { return }
        print("\n## \(count) timers pending for an hour, bytes of the heap each\n")
        titles(["", "pending", "cancelled", "threads"])
        await measure("Deferred.after, on a queue") { Deferred.after(Self.delay).cancel }
        await measure("Deferred.after, on a Swift clock") {
            Deferred.after(Self.delay, on: .clock(.continuous)).cancel
        }
        let clock = ManualClock()
        await measure("Deferred.after, on a ManualClock") { Deferred.after(Self.delay, on: clock).cancel }
        await measure("a timeout, on a queue") {
            let source = Deferred<Void>()
            let limited = source.timeout(Self.delay)
            return {
                limited.cancel()
                _ = source
            }
        }
        await measure("Task.sleep") { Task { try? await Task.sleep(for: Self.delay) }.cancel }
        await measure("DispatchWorkItem, asyncAfter") {
            let item = DispatchWorkItem {}
            DispatchQueue.global().asyncAfter(deadline: .now() + 3600, execute: item)
            return item.cancel
        }
    }

    /// `make` gives what cancels the timer that it has made.
    private func measure(_ name: String, _ make: () -> () -> Void) async {
        var cancels: [() -> Void] = []
        cancels.reserveCapacity(count)
        make()()
        allocation_counting_reset()
        allocation_counting_start()
        for _ in 0..<count { cancels.append(make()) }
        let pending = await settled()
        let threads = Self.threads
        for cancel in cancels { cancel() }
        cancels = []
        let cancelled = await settled() + Int64(count * MemoryLayout<() -> Void>.stride)
        allocation_counting_stop()
        row([
            name, figure(Double(pending) / Double(count)), figure(Double(cancelled) / Double(count)), threads,
        ])
    }

    /// The bytes held, when other threads have done what they had to, but for what this pause itself takes.
    private func settled() async -> Int64 {
        var last = allocation_counting_read().live
        while true {
            try? await Task.sleep(for: .milliseconds(200))
            let now = allocation_counting_read().live
            if abs(now - last) < count { return now }
            last = now
        }
    }

    private static var threads: String {
        let tasks = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
        return tasks.map { "\($0.count)" } ?? "?"
    }
}
