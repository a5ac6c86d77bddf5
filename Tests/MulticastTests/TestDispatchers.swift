import Deferred
import Dispatch
import Foundation
import TestSupport
import Testing

/// Stores its work until the test runs or drops it.
///
/// In an array with `nil` beside it, name the type `[(any Dispatcher)?]`: of an array of `HeldDispatcher?` the
/// Swift 6.3 compiler, optimising, puts the elements on the stack though they outlive it.
final class HeldDispatcher: Dispatcher {
    private let held = SharedLog<@Sendable () -> Void>()

    func dispatch(_ work: @escaping @Sendable () -> Void) {
        held.add(work)
    }

    var count: Int { held.all.count }

    /// Runs its work, and work submitted meanwhile, in order.
    func run() {
        while let work = held.removeFirst() { work() }
    }

    /// Releases its work without running it.
    func drop() {
        while held.removeFirst() != nil {}
    }
}

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

/// Fails the test if another thread does not signal; how long it takes is not asserted.
func expectSignal(_ semaphore: DispatchSemaphore, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(
        semaphore.wait(timeout: .now() + 60) == .success, "nobody signalled", sourceLocation: sourceLocation)
}

/// Lets other threads run until a condition without a signal is true.
func waitUntil(_ condition: () -> Bool) {
    while !condition() { sched_yield() }
}
