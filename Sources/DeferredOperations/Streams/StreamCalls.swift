internal import Deferred
internal import Foundation

/// Consumes a ``StreamBuffer`` by calls on a dispatcher: one batch of pieces after another, then the end.
///
/// The buffer delivers on the session's thread, where all transfers wait. A dispatcher of the user's own class may run
/// its work there and then, so it is called on a queue.
final class StreamCalls: Sendable {
    typealias OnPiece = @Sendable (Data) throws -> Void

    private let buffer: StreamBuffer
    private let dispatcher: any Dispatcher
    /// Where the dispatcher is called; nil for a queue, which only stores its work.
    private let submitting: DispatchQueue?
    private let onPiece: OnPiece

    /// - Parameter dispatcher: Where the calls are made; nil for a queue of their own.
    init(_ buffer: StreamBuffer, _ dispatcher: (any Dispatcher)?, _ onPiece: @escaping OnPiece) {
        let queue = DispatchQueue(label: "DeferredOperations.StreamDataSource")
        submitting = dispatcher == nil || dispatcher is DispatchQueue ? nil : queue
        (self.buffer, self.dispatcher, self.onPiece) = (buffer, dispatcher ?? queue, onPiece)
    }

    /// Makes the next calls as soon as there are pieces.
    ///
    /// - Parameter onEnd: Called once, with nil after the last piece, or with what ended the calls.
    func begin(onEnd: @escaping @Sendable ((any Error)?) -> Void) {
        // It sees the task-local values of the request's call, in which this is called (X2).
        next(DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(onPiece) : onPiece, onEnd)
    }

    private func next(_ onPiece: @escaping OnPiece, _ onEnd: @escaping @Sendable ((any Error)?) -> Void) {
        buffer.take { [self] taken in
            guard let submitting else { return submit(taken, onPiece, onEnd) }
            submitting.async { [self] in submit(taken, onPiece, onEnd) }
        }
    }

    private func submit(
        _ taken: StreamBuffer.Taken, _ onPiece: @escaping OnPiece,
        _ onEnd: @escaping @Sendable ((any Error)?) -> Void
    ) {
        // Ends the calls if the dispatcher releases its work without running it.
        let end = OneTimeWork(runsOnRelease: true) { onEnd(DeferredError.abandoned) }
        dispatcher.dispatch { [self] in
            end.cancel()
            do {
                let pieces = try taken.get()
                if pieces.isEmpty { return onEnd(nil) }
                for piece in pieces where !buffer.isCancelled { try onPiece(piece) }
                next(onPiece, onEnd)
            } catch {
                onEnd(error)
            }
        }
    }
}
