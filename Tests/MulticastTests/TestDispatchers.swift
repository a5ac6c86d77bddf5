import Deferred
import Dispatch
import Foundation
import TestSupport
import Testing

/// A serial queue that a test can drain.
final class SerialDispatcher: Dispatcher {
    let queue = DispatchQueue(label: "test")

    func dispatch(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }

    /// Returns when all work dispatched before has run.
    func drain() {
        queue.sync {}
    }
}

/// Runs `body` on a number of threads at once, and returns when all are done.
func onThreads(_ number: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    let start = DispatchSemaphore(value: 0)
    for index in 0..<number {
        DispatchQueue(label: "thread \(index)").async(group: group) {
            start.wait()
            body(index)
        }
    }
    for _ in 0..<number { start.signal() }
    group.wait()
}

/// Fails the test if another thread does not signal until the watchdog calls the test off.
func expectSignal(_ semaphore: DispatchSemaphore, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(Watchdog.waits(for: semaphore), "nobody signalled", sourceLocation: sourceLocation)
}

/// Lets other threads run until a condition without a signal is true.
func waitUntil(_ condition: () -> Bool) {
    while !condition() { sched_yield() }
}
