import Deferred
import Foundation

extension Rules {
    typealias Work = @Sendable () -> Void

    /// A dispatcher that runs its work when the test says so, or lets go of it.
    ///
    /// Sound as `@unchecked Sendable`: `queue` and `handedOver` are touched under `lock` alone.
    final class HandDispatcher: Dispatcher, @unchecked Sendable {
        private let lock = NSLock()
        private var queue: [Work] = []
        private var handedOver = 0

        func dispatch(_ work: @escaping Work) {
            lock.withLock {
                queue.append(work)
                handedOver += 1
            }
        }

        /// How much work was ever handed over.
        var count: Int { lock.withLock { handedOver } }

        /// Runs the next in the queue; false if there is none.
        @discardableResult
        func runNext() -> Bool {
            let work = lock.withLock { queue.isEmpty ? nil : queue.removeFirst() }
            work?()
            return work != nil
        }

        /// Runs all that is in the queue, and what is handed over meanwhile.
        func runAll() {
            while runNext() {}
        }

        /// Lets go of all that is in the queue.
        func drop() {
            let dropped = lock.withLock {
                let dropped = queue
                queue = []
                return dropped
            }
            _ = dropped
        }

        /// Takes the next out of the queue.
        func take() -> Work? {
            lock.withLock { queue.isEmpty ? nil : queue.removeFirst() }
        }
    }

    /// A dispatcher that runs its work there and then.
    struct InlineDispatcher: Dispatcher {
        func dispatch(_ work: @escaping Work) { work() }
    }

    /// A dispatcher that lets go of its work there and then.
    struct DroppingDispatcher: Dispatcher {
        func dispatch(_ work: @escaping Work) {}
    }
}
