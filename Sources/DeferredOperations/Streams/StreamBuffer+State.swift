internal import Deferred
internal import Foundation

extension StreamBuffer {
    typealias Consumer = @Sendable (Taken) -> Void
    typealias Request = Deferred<StreamDataSource.Summary>

    /// What the buffer contains and who waits: changed by the transitions below, each of which is one critical section and
    /// returns what is to be called, or released, after it.
    struct State: ~Copyable {
        private var bytes: ByteQueue
        private let pauseByteCount: Int64
        /// Whether the body has ended for the transfer.
        private(set) var isOver: Bool
        private var isPaused = false
        private var error: (any Error)?
        /// The waiting consumers, first in first out; more than one only if several loops share a body.
        private var consumers: [Consumer] = []
        private var onRoom: (@Sendable () -> Void)?
        /// The request's Deferred, retained until its failure has been thrown to a reader: it is not reported
        /// before (U1).
        private var request: Request?
        private var wasThrown = false

        init(limit: Int, pauseByteCount: Int64, isOver: Bool) {
            bytes = ByteQueue(limit: max(1, limit))
            self.pauseByteCount = max(1, pauseByteCount)
            self.isOver = isOver
        }

        var isCancelled: Bool { error is CancellationError }

        // MARK: The transfer

        mutating func setOnRoom(_ onRoom: @escaping @Sendable () -> Void) { self.onRoom = onRoom }

        enum Appending {
            /// The transfer continues: there is room, or it cannot pause, or the body is over and drops the piece.
            case continues
            /// The transfer is to pause; `onRoom` is called once the consumer has taken what is in the file.
            case pauses
        }

        mutating func append(_ piece: Data, mayPause: Bool) throws -> Appending {
            guard !isOver, !piece.isEmpty else { return .continues }
            try bytes.append(piece)
            guard mayPause, bytes.overflowByteCount >= pauseByteCount else { return .continues }
            isPaused = true
            return .pauses
        }

        enum Ending {
            /// The body had ended before, and this is no cancel.
            case isLate
            /// What is to be released.
            case ends(onRoom: (@Sendable () -> Void)?, request: Request?)
        }

        /// Ends the body: the first end counts, or a cancel after it, which drops the bytes that wait.
        mutating func end(_ error: (any Error)?) -> Ending {
            guard !isOver || error is CancellationError else { return .isLate }
            isOver = true
            self.error = error
            if isCancelled { bytes.removeAll() }
            return .ends(onRoom: onRoom.take(), request: error == nil ? request.take() : nil)
        }

        // MARK: The consumer

        mutating func wait(_ consumer: @escaping Consumer) { consumers.append(consumer) }

        enum Delivery {
            /// Nobody waits, or there is nothing yet.
            case nothing
            /// `onRoom`, if the transfer had paused and may continue, and then the consumer are to be called.
            case delivers(Taken, to: Consumer, onRoom: (@Sendable () -> Void)?)
        }

        /// Takes what there is for the consumer that has waited longest: the bytes in memory, or as many out of the file,
        /// or else the end.
        mutating func deliver() -> Delivery {
            guard !consumers.isEmpty, let taken = take() else { return .nothing }
            let mayContinue = isPaused && !isOver && bytes.overflowByteCount == 0
            if mayContinue { isPaused = false }
            return .delivers(taken, to: consumers.removeFirst(), onRoom: mayContinue ? onRoom : nil)
        }

        private mutating func take() -> Taken? {
            do {
                if let pieces = try bytes.take() { return .success(pieces) }
            } catch {
                (isOver, self.error) = (true, error)
                bytes.removeAll()
            }
            return isOver ? error.map { .failure($0) } ?? .success([]) : nil
        }

        enum Noting {
            case retains
            /// Its failure was thrown to a reader before, and counts as handled.
            case wasThrown
        }

        /// Notes the Deferred whose failure readers of the body may receive.
        mutating func note(_ request: Request) -> Noting {
            if wasThrown { return .wasThrown }
            self.request = request
            return .retains
        }

        /// Notes that a reader receives the failure. Returns the Deferred whose failure counts as handled thereby.
        mutating func throwFailure() -> Request? {
            wasThrown = true
            return request.take()
        }
    }
}
