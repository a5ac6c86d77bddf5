import Deferred
import Foundation

extension Rules {
    typealias Work = @Sendable () -> Void

    /// A dispatcher that stores its work until the test runs or releases it.
    ///
    /// Sound as `@unchecked Sendable`: `queue` and `handedOver` are touched under `lock` alone.
    final class StoringDispatcher: Dispatcher, @unchecked Sendable {
        private let lock = NSLock()
        private var queue: [Work] = []
        private var handedOver = 0

        func dispatch(_ work: @escaping Work) {
            lock.withLock {
                queue.append(work)
                handedOver += 1
            }
        }

        /// The number of works ever submitted.
        var count: Int { lock.withLock { handedOver } }

        /// Runs the oldest work; returns false if there is none.
        @discardableResult
        func runNext() -> Bool {
            let work = lock.withLock { queue.isEmpty ? nil : queue.removeFirst() }
            work?()
            return work != nil
        }

        /// Runs the work in the queue, and work that is submitted meanwhile.
        func runAll() {
            while runNext() {}
        }

        /// Releases the work in the queue.
        func drop() {
            let dropped = lock.withLock {
                let dropped = queue
                queue = []
                return dropped
            }
            _ = dropped
        }

        /// Removes and returns the oldest work.
        func take() -> Work? {
            lock.withLock { queue.isEmpty ? nil : queue.removeFirst() }
        }
    }
}
