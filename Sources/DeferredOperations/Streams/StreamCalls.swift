internal import Deferred
internal import Foundation

/// Consumes a ``StreamBuffer`` by calls on a dispatcher: one batch of pieces after another, then the end.
///
/// The buffer delivers on the session's thread, where all transfers wait. A dispatcher of the user's own class may run
/// its work there and then, so it is called on a queue.
final class StreamCalls: Sendable {
    private let buffer: StreamBuffer
    private let dispatcher: any Dispatcher
    /// Where the dispatcher is called; nil for a queue, which only stores its work.
    private let submitting: DispatchQueue?
    private let onPiece: @Sendable (Data) throws -> Void
    private let onEnd: @Sendable ((any Error)?) -> Void

    /// - Parameters:
    ///   - dispatcher: Where the calls are made; nil for a queue of their own.
    ///   - onEnd: Called once, with nil after the last piece, or with what ended the calls.
    init(
        _ buffer: StreamBuffer, on dispatcher: (any Dispatcher)?,
        _ onPiece: @escaping @Sendable (Data) throws -> Void,
        onEnd: @escaping @Sendable ((any Error)?) -> Void
    ) {
        self.buffer = buffer
        let queue = DispatchQueue(label: "DeferredOperations.StreamDataSource")
        self.dispatcher = dispatcher ?? queue
        submitting = dispatcher == nil || dispatcher is DispatchQueue ? nil : queue
        self.onPiece = onPiece
        self.onEnd = onEnd
    }

    /// Makes the next calls as soon as there are pieces.
    func begin() {
        buffer.take { [self] taken in
            if let submitting { submitting.async { [self] in submit(taken) } } else { submit(taken) }
        }
    }

    private func submit(_ taken: StreamBuffer.Taken) {
        // Ends the calls if the dispatcher releases its work without running it.
        let end = OneTimeWork(runsOnRelease: true) { [onEnd] in onEnd(DeferredError.abandoned) }
        dispatcher.dispatch { [self] in
            end.cancel()
            if consume(taken) { begin() }
        }
    }

    /// Returns whether there may be more.
    private func consume(_ taken: StreamBuffer.Taken) -> Bool {
        switch taken {
        case .pieces(let pieces):
            do {
                for piece in pieces where !buffer.isCancelled { try onPiece(piece) }
            } catch {
                onEnd(error)
                return false
            }
            return true
        case .end(let error):
            onEnd(error)
            return false
        }
    }
}
