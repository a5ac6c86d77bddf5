internal import Deferred
import Dispatch

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
/// Sound as `@unchecked Sendable`: used by the owner of the question alone; see ``Question``.
final class DispatcherReference: @unchecked Sendable {
    private var dispatcher: (any Dispatcher)?
    /// The same one, if it is referred to weakly while it has work.
    private weak var object: AnyObject?
    private let isWeakWhileWorking: Bool

    init(_ dispatcher: any Dispatcher) {
        self.dispatcher = dispatcher
        isWeakWhileWorking = type(of: dispatcher) is AnyClass && !(dispatcher is DispatchQueue)
        if isWeakWhileWorking { object = dispatcher as AnyObject }
    }

    /// Submits work; if the dispatcher has been released, releases it.
    func submit(_ work: @escaping @Sendable () -> Void) {
        guard isWeakWhileWorking else {
            dispatcher?.dispatch(work)
            return
        }
        guard let target = dispatcher ?? object as? any Dispatcher else { return }
        dispatcher = nil
        target.dispatch { [self] in
            dispatcher = object as? any Dispatcher
            work()
        }
    }
}

/// A delegate that a question is put to: its listener, and the dispatcher that it is called on.
struct Respondent: Sendable {
    let listener: Listener
    /// Nil for a delegate that is called at once.
    let dispatcher: DispatcherReference?

    /// The delegates of a registry, in the order added; all on `place`, if there is one. Those with one dispatcher
    /// share a reference if they are asked by one question, and have one each otherwise.
    static func all(
        in registry: ListenerRegistry, on place: (any Dispatcher)?, sharing isShared: Bool
    ) -> [Respondent] {
        var references: [ObjectIdentifier: DispatcherReference] = [:]
        return registry.snapshot().compactMap { registration in
            guard let registration else { return nil }
            guard let dispatcher = place ?? registration.dispatcher else {
                return Respondent(listener: registration.listener, dispatcher: nil)
            }
            let isObject = isShared && type(of: dispatcher) is AnyClass
            let identity = isObject ? ObjectIdentifier(dispatcher as AnyObject) : nil
            let reference = identity.flatMap { references[$0] } ?? DispatcherReference(dispatcher)
            if let identity { references[identity] = reference }
            return Respondent(listener: registration.listener, dispatcher: reference)
        }
    }
}
