import AllocationCounter
import Comparing
import Deferred
import DeferredTesting
import Dispatch
import Foundation

/// Measures the heap memory of pending timers, what remains of it after they are cancelled, and the number of
/// threads while they are pending.
struct PendingTimers {
    let count: Int

    private static let delay = Duration.seconds(3600)

    func run() async {
        guard allocation_counting_is_available() else { return }
        print("\n## \(count) timers pending for an hour, heap bytes each\n")
        titles(["", "pending", "cancelled", "threads"])
        await measure("Deferred.after, on a queue") { Deferred.after(Self.delay).cancel }
        await measure("Deferred.after, on a Swift clock") {
            Deferred.after(Self.delay, timer: .clock(.continuous)).cancel
        }
        let clock = ManualClock()
        await measure("Deferred.after, on a ManualClock") { Deferred.after(Self.delay, timer: clock).cancel }
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

    /// `make` creates a timer and returns a closure that cancels it.
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

    /// Returns the number of allocated bytes once other threads are idle, less the bytes that this pause
    /// allocates.
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
