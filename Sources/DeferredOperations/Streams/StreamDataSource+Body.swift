public import Foundation

extension StreamDataSource {
    /// The body of an answer, in pieces as they come.
    ///
    /// For one consumer: several loops would each get some of the pieces.
    public struct Body: AsyncSequence, Sendable {
        private let buffer: StreamBuffer
        private let cancel: @Sendable () -> Void

        init(_ buffer: StreamBuffer, cancel: @escaping @Sendable () -> Void) {
            self.buffer = buffer
            self.cancel = cancel
        }

        /// Returns an iterator. When it is released before the end, the transfer is cancelled.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(Iteration(buffer, cancel: cancel))
        }

        /// Iterates over the pieces.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let iteration: Iteration
            private var batch: ArraySlice<Data> = []

            fileprivate init(_ iteration: Iteration) { self.iteration = iteration }

            /// Returns the next piece, which is not empty, or nil at the end of the body.
            ///
            /// - Throws: What the transfer fails with; `CancellationError` if the Task is cancelled, which cancels the
            ///   transfer.
            public mutating func next() async throws -> Data? {
                if batch.isEmpty { batch = try await iteration.nextBatch()[...] }
                // Also after the wait: a cancel may have come between the taking of the pieces and this.
                if !batch.isEmpty { try iteration.checkCancellation() }
                return batch.popFirst()
            }
        }
    }

    /// A loop over the body; releasing it cancels the transfer, unless that has ended.
    fileprivate final class Iteration: Sendable {
        private let buffer: StreamBuffer
        private let cancel: @Sendable () -> Void

        init(_ buffer: StreamBuffer, cancel: @escaping @Sendable () -> Void) {
            self.buffer = buffer
            self.cancel = cancel
        }

        deinit {
            if !buffer.hasEnded { cancel() }
        }

        /// Throws if the Task or the transfer was cancelled: no further piece is delivered.
        func checkCancellation() throws {
            if Task.isCancelled { cancel() }
            if Task.isCancelled || buffer.isCancelled { throw CancellationError() }
        }

        /// The pieces that have come; none at the end.
        func nextBatch() async throws -> [Data] {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    buffer.take { taken in
                        switch taken {
                        case .pieces(let pieces): continuation.resume(returning: pieces)
                        case .end(nil): continuation.resume(returning: [])
                        case .end(let error?): continuation.resume(throwing: error)
                        }
                    }
                }
            } onCancel: {
                cancel()
            }
        }
    }
}
