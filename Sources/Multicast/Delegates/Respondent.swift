import Deferred
import Dispatch

/// A delegate that a question is put to: its listener, and the dispatcher that it is called on.
struct Respondent: Sendable {
    let listener: Listener
    /// Nil for a delegate that is called at once.
    let dispatcher: DispatcherReference?

    /// The delegates of a registry, in the order added.
    static func all(in registry: ListenerRegistry) -> [Respondent] {
        var shared: [ObjectIdentifier: DispatcherReference] = [:]
        return registry.snapshot().compactMap { registration in
            guard let registration else { return nil }
            guard let dispatcher = registration.dispatcher else {
                return Respondent(listener: registration.listener, dispatcher: nil)
            }
            guard type(of: dispatcher) is AnyClass else {
                return Respondent(
                    listener: registration.listener, dispatcher: DispatcherReference(dispatcher))
            }
            let identity = ObjectIdentifier(dispatcher as AnyObject)
            let reference = shared[identity] ?? DispatcherReference(dispatcher)
            shared[identity] = reference
            return Respondent(listener: registration.listener, dispatcher: reference)
        }
    }
}

/// A dispatcher of a question, which is not retained by the work that is submitted to it.
///
/// The work retains the question, which retains the dispatchers of the delegates that are still to be asked. A
/// dispatcher that retains its work would therefore retain itself, and neither would ever be released. So the
/// reference is weak from before the work is submitted until it runs: a dispatcher that is released with its
/// work in it releases the question, which then fails with `DeferredError.abandoned`. (The registry retains
/// its delegates' dispatchers, as long as there is a registry.)
///
/// There is no weak reference to a dispatcher that is a value. A `DispatchQueue` is always retained: it runs
/// its work even when it has no other reference, and off Darwin the object is one of several wrappers.
///
/// Soundness of `@unchecked Sendable`: used by the owner of the question alone; see ``SequentialQuestion``.
final class DispatcherReference: @unchecked Sendable {
    private var dispatcher: (any Dispatcher)?
    private let isWeakWhileWorking: Bool
    private let handle: DispatcherHandle

    init(_ dispatcher: any Dispatcher) {
        self.dispatcher = dispatcher
        handle = DispatcherHandle(dispatcher)
        isWeakWhileWorking = type(of: dispatcher) is AnyClass && !(dispatcher is DispatchQueue)
    }

    /// Submits work; if the dispatcher has been released, releases it.
    func submit(_ work: @escaping @Sendable () -> Void) {
        guard isWeakWhileWorking else {
            dispatcher?.dispatch(work)
            return
        }
        guard let target = dispatcher ?? handle.dispatcher else { return }
        dispatcher = nil
        target.dispatch { [self] in
            dispatcher = handle.dispatcher
            work()
        }
    }
}

/// A dispatcher that is not kept alive, if it is an object.
///
/// Sound as `@unchecked Sendable`: neither property is written after the initialiser, but by the runtime, which
/// synchronises weak references.
private final class DispatcherHandle: @unchecked Sendable {
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
