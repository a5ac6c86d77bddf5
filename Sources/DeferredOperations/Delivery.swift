internal import Deferred
internal import Foundation

/// The dispatcher of one request's outcome: the one asked for, with a note to the operation when what was
/// handed over has run, or was let go of.
///
/// `Sendable` is checked: the reference is weak and never changed, and the operation is itself `Sendable`. An
/// operation that has gone has no use for the note.
struct Delivery<Value: Sendable>: Dispatcher {
    private weak let operation: RequestOperation<Value>?
    private let target: any Dispatcher

    /// - Parameter queue: Where the operation runs. It holds its place there until the outcome has been
    ///   delivered, so to wait for another place in the same queue might be to wait for ever: its callbacks
    ///   run in the place that it has.
    init(for operation: RequestOperation<Value>, on dispatcher: any Dispatcher, of queue: OperationQueue?) {
        self.operation = operation
        if let wanted = dispatcher as? OperationQueue, wanted === queue {
            target = wanted.underlyingQueue ?? .global()
        } else {
            target = dispatcher
        }
    }

    func dispatch(_ work: @escaping @Sendable () -> Void) {
        let receipt = Receipt(operation)
        target.dispatch {
            work()
            receipt.sign()
        }
    }

    /// Tells the operation, in any case: the last reference to it is in the work that the dispatcher was
    /// given.
    private final class Receipt: Sendable {
        private weak let operation: RequestOperation<Value>?

        init(_ operation: RequestOperation<Value>?) { self.operation = operation }

        func sign() { operation?.noteDispatched() }

        deinit { sign() }
    }
}
