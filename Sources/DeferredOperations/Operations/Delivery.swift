internal import Deferred
internal import Foundation

/// Dispatches one request's outcome to the dispatcher that was named, and notifies the operation when the work has
/// run, or was released without having run.
///
/// `Sendable` is checked: the reference is weak and never changed, and the operation is itself `Sendable`.
struct Delivery<Value: Sendable>: Dispatcher {
    private let operation: WeakReference<RequestOperation<Value>>
    private let target: any Dispatcher

    /// - Parameter queue: Where the operation runs. It is executing there until the outcome has been delivered; if all
    ///   the operations of a queue waited for further ones of the same queue, none would finish. So its callbacks
    ///   run on that queue's underlying dispatch queue, as part of this operation.
    init(for operation: RequestOperation<Value>, on dispatcher: any Dispatcher, of queue: OperationQueue?) {
        self.operation = WeakReference(operation)
        if let wanted = dispatcher as? OperationQueue, wanted === queue {
            target = wanted.underlyingQueue ?? .global()
        } else {
            target = dispatcher
        }
    }

    func dispatch(_ work: @escaping @Sendable () -> Void) {
        let receipt = Receipt(operation: operation)
        target.dispatch {
            work()
            receipt.sign()
        }
    }

    /// Notifies the operation once the work that retains it has run or has been released.
    private final class Receipt: Sendable {
        private let operation: WeakReference<RequestOperation<Value>>

        init(operation: WeakReference<RequestOperation<Value>>) { self.operation = operation }

        func sign() { operation.object?.noteDispatched() }

        deinit { sign() }
    }
}
