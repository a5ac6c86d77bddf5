import Deferred

/// A dispatcher that keeps the work submitted to it until a test runs it.
///
/// ```swift
/// let dispatcher = ManualDispatcher()
/// let length = page.map(on: dispatcher) { $0.count }
/// page.resolve("text")
/// try expectNoResult(length)
/// dispatcher.run()
/// #expect(try successResult(of: length) == 4)
/// ```
public final class ManualDispatcher: OwnedDispatcher {
    private let waiting = SpinLocked(CancellableFIFO<@Sendable () -> Void>())

    /// Creates a dispatcher without work.
    public init() {}

    /// Keeps `work` for ``run()``.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        let work = DeferredTaskLocals.carrying(work)
        waiting.withLock { _ = $0.append(work) }
    }

    /// How many pieces of work wait to be run.
    public var count: Int { waiting.withLock { $0.count } }

    /// Runs all waiting work on this thread, in order, also what that submits, and returns how many pieces that was.
    ///
    /// - Complexity: O(*n*), where *n* is the number of pieces of work that run.
    @discardableResult
    public func run() -> Int {
        var count = 0
        while runNext() { count += 1 }
        return count
    }

    /// Runs the work that has waited longest, on this thread. Returns false if there was none.
    @discardableResult
    public func runNext() -> Bool {
        let next = waiting.withLock { $0.popFirst() }
        next?.element()
        return next != nil
    }

    /// Releases all waiting work without running it, as a dispatcher does that shuts down.
    ///
    /// - Complexity: O(*n*), where *n* is the number of pieces of work that wait.
    public func dropAll() {
        withExtendedLifetime(waiting.withLock { $0.removeAll() }) {}
    }
}

/// A dispatcher that runs the work submitted to it at once, within `dispatch`.
public struct InlineDispatcher: Dispatcher {
    /// Creates a dispatcher.
    public init() {}

    /// Runs `work` before it returns.
    public func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
}
