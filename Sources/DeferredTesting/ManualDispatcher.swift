import Deferred

/// A dispatcher that keeps what it is given until a test asks for it to be run.
///
/// ```swift
/// let dispatcher = ManualDispatcher()
/// let length = page.then(on: dispatcher) { $0.count }
/// page.resolve("text")
/// try expectNoResult(length)
/// dispatcher.run()
/// #expect(try successResult(of: length) == 4)
/// ```
public final class ManualDispatcher: Dispatcher {
    private let waiting = Guarded<[@Sendable () -> Void]>([])

    /// A dispatcher with nothing to do.
    public init() {}

    /// Keeps `work` for ``run()``.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        waiting.withLock { $0.append(work) }
    }

    /// How many pieces of work wait.
    public var count: Int { waiting.withLock { $0.count } }

    /// Runs what waits on this thread, in order, also what comes in the meantime, and says how much that was.
    @discardableResult
    public func run() -> Int {
        var count = 0
        while runNext() { count += 1 }
        return count
    }

    /// Runs the piece that has waited longest, on this thread; false if there was none.
    @discardableResult
    public func runNext() -> Bool {
        let next = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        next?()
        return next != nil
    }

    /// Lets go of what waits without running it, as a dispatcher does that shuts down.
    public func dropAll() {
        let dropped = waiting.withLock { waiting in
            let dropped = waiting
            waiting = []
            return dropped
        }
        _ = consume dropped
    }
}

/// A dispatcher that runs what it is given at once, within `dispatch`.
public struct InlineDispatcher: Dispatcher {
    /// Such a dispatcher.
    public init() {}

    /// Runs `work` before it returns.
    public func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
}
