import Deferred

/// The dispatcher on which the last delegate answered a question, once the result is settled.
///
/// Callbacks that the asking code attaches to the result after that run there too, as those that it attached before.
/// While a dispatcher runs a delegate's work, `current` is a handle to it: the code that settles the result notes it.
final class AnsweringDispatcher: Sendable {
    @TaskLocal static var current: DispatcherHandle?

    private let noted = LockedState<DispatcherHandle?>(nil)

    /// Notes where the result is about to be settled.
    func note() {
        let dispatcher = Self.current
        noted.withLock { $0 = dispatcher }
    }

    /// Has what attaches to `result` after it is settled run where it was settled.
    func receive<Value>(from result: Deferred<Value>) -> Deferred<Value> {
        result.notifyLateConsumers { self.noted.withLock { $0 }?.dispatcher }
        return result
    }
}

/// A dispatcher that is not kept alive, if it is an object.
///
/// Sound as `@unchecked Sendable`: neither property is written after the initialiser, but by the runtime, which
/// synchronises weak references.
final class DispatcherHandle: @unchecked Sendable {
    private let value: (any Dispatcher)?
    private weak var object: AnyObject?

    init(_ dispatcher: any Dispatcher) {
        if type(of: dispatcher) is AnyClass {
            value = nil
            object = dispatcher as AnyObject
        } else {
            value = dispatcher
        }
    }

    var dispatcher: (any Dispatcher)? { value ?? object as? any Dispatcher }
}
