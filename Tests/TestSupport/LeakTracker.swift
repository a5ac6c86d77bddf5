internal import Synchronization

/// Counts live objects, to check that the captures of a closure are released.
public final class LeakTracker: Sendable {
    private let count = Atomic<Int>(0)

    /// Creates a counter at 0.
    public init() {}

    /// The number of objects that have not been deallocated.
    public var alive: Int { count.load(ordering: .acquiring) }

    /// Creates an object that is counted until it is deallocated.
    public func begin() -> Tracked { Tracked(self) }

    /// An object for a closure to capture.
    public final class Tracked: Sendable {
        private let tracker: LeakTracker

        fileprivate init(_ tracker: LeakTracker) {
            self.tracker = tracker
            tracker.count.add(1, ordering: .relaxed)
        }

        deinit { tracker.count.subtract(1, ordering: .releasing) }

        /// Does nothing, except that the closure that calls it captures this object.
        public func use() {}

        /// Returns `value`. The closure that calls it captures this object.
        public func returning<Value>(_ value: Value) -> Value { value }
    }
}
