extension DeferredQueue: AsyncSequence {
    /// Reads a queue in a `for try await` loop.
    ///
    /// ```swift
    /// for try await job in jobs { try await job.perform() }
    /// ```
    ///
    /// Several loops share the elements: each takes the next one when it asks for it, in the order of ``get(fileID:line:)``
    /// and of the workers. A loop that is left takes no further element, and loses none: the rest stays in the queue.
    ///
    /// The loop ends after ``finish()``, when no element is left. It throws ``DeferredError/abandoned`` if the last
    /// reference to the queue was released without that (the iterator retains only what is in the queue), and
    /// ``DeferredError/queueUnderflow(backlog:)`` if as many callers wait as may. When its Task is cancelled, it throws
    /// `CancellationError`, also while elements are left, and an element that was on its way returns to the head.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let storage: QueueStorage

        /// Returns the element that has waited longest, or waits for the next one; returns nil when the queue has ended.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            do {
                return try await Deferred<Element>(storage.next(isWorker: false, #fileID, #line)).value
            } catch DeferredError.finished {
                return nil
            }
        }
    }

    /// Returns an iterator, which takes an element only when it is asked for one.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(storage: storage) }
}
