import Deferred
import Dispatch
import Foundation
import Testing

/// Keeps what it is given until the test says so.
///
/// In an array with `nil` beside it, name the type `[(any Dispatcher)?]`: of an array of `HeldDispatcher?` the
/// Swift 6.3 compiler, optimising, puts the elements on the stack though they outlive it.
final class HeldDispatcher: Dispatcher {
    private let held = Log<@Sendable () -> Void>()

    func dispatch(_ work: @escaping @Sendable () -> Void) {
        held.append(work)
    }

    var count: Int { held.entries.count }

    /// Runs what it has, and what comes of that, in order.
    func run() {
        while let work = held.removeFirst() { work() }
    }

    /// Lets go of what it has.
    func drop() {
        while held.removeFirst() != nil {}
    }
}

/// A serial queue that can be waited for.
final class SerialDispatcher: Dispatcher {
    let queue = DispatchQueue(label: "test")

    func dispatch(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }

    /// Returns when all that was dispatched before has run.
    func drain() {
        queue.sync {}
    }
}

/// What happened, in order, from any thread.
///
/// Soundness of `@unchecked Sendable`: `stored` is touched on the queue only (a lock that ThreadSanitizer
/// knows).
final class Log<Entry: Sendable>: @unchecked Sendable {
    private let queue = DispatchQueue(label: "log")
    private var stored: [Entry] = []

    func append(_ entry: Entry) {
        queue.sync { stored.append(entry) }
    }

    func removeFirst() -> Entry? {
        queue.sync { stored.isEmpty ? nil : stored.removeFirst() }
    }

    var entries: [Entry] {
        queue.sync { stored }
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

/// Fails the test if what another thread was to signal doesn't come; how long it takes is not asserted.
func expectSignal(_ semaphore: DispatchSemaphore, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(
        semaphore.wait(timeout: .now() + 60) == .success, "nobody signalled", sourceLocation: sourceLocation)
}

/// Lets other threads run until something holds that nobody signals.
func waitUntil(_ condition: () -> Bool) {
    while !condition() { sched_yield() }
}
