import Dispatch
import Foundation

extension Rules {
    /// A thread that can be waited for.
    final class Worker: Sendable {
        private let done = DispatchSemaphore(value: 0)

        init(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
            let done = done
            let thread = Thread {
                body()
                done.signal()
            }
            if let stackSize { thread.stackSize = stackSize }
            thread.start()
        }

        func join() { done.wait() }
    }

    /// Runs `body` on another thread and waits for it.
    static func onThread(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
        Worker(stackSize: stackSize, body).join()
    }

    /// Runs `body` on `count` threads, starting as simultaneously as possible, and waits for them.
    static func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let start = Gate()
        let workers = (0..<count).map { index in
            Worker {
                start.pass()
                body(index)
            }
        }
        for _ in workers { start.open() }
        for worker in workers { worker.join() }
    }

    /// A gate at which one thread waits for another.
    final class Gate: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        /// Lets one waiting thread pass.
        func open() { semaphore.signal() }
        func pass() { semaphore.wait() }
    }
}
