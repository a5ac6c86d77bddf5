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
final class DispatcherReference: Dispatcher, @unchecked Sendable {
    /// Nil while it has work, if `object` refers to it.
    private var dispatcher: (any Dispatcher)?
    private weak var object: AnyObject?

    init(_ dispatcher: any Dispatcher) {
        self.dispatcher = dispatcher
        let isWeakWhileWorking = type(of: dispatcher) is AnyClass && !(dispatcher is DispatchQueue)
        object = isWeakWhileWorking ? dispatcher as AnyObject : nil
    }

    /// Submits work; if the dispatcher has been released, releases it.
    func dispatch(_ work: @escaping @Sendable () -> Void) {
        guard let target = dispatcher ?? object as? any Dispatcher else { return }
        if object != nil { dispatcher = nil }
        target.dispatch { [self] in
            if dispatcher == nil { dispatcher = object as? any Dispatcher }
            work()
        }
    }
}

/// Returns whether two dispatchers are the same: objects by identity, values by `==`.
///
/// Values without `==` can't be distinguished. A removal that silently does nothing, or removes too much,
/// would be worse than one that stops the program, with a message that names the caller.
func isSameDispatcher(_ first: any Dispatcher, _ second: any Dispatcher, _ site: CallSite) -> Bool {
    guard type(of: first) == type(of: second) else { return false }
    if type(of: first) is AnyClass {
        return first as AnyObject === second as AnyObject || isSameQueue(first, second)
    }
    guard let value = first as? any Equatable else {
        fatalError(
            "Removing by dispatcher needs dispatchers that can be compared: "
                + "make \(type(of: first)) a class or Equatable",
            file: site.fileID,
            line: site.line
        )
    }
    return isEqual(value, second)
}

private func isEqual<Value: Equatable>(_ value: Value, _ other: Any) -> Bool {
    value == other as? Value
}

#if canImport(ObjectiveC)
private func isSameQueue(_ first: any Dispatcher, _ second: any Dispatcher) -> Bool { false }
#else
/// Off Darwin a `DispatchQueue` is a wrapper, and `DispatchQueue.main` and `.global()` return a new one each
/// time. A token that is stored in the queue itself identifies it.
private func isSameQueue(_ first: any Dispatcher, _ second: any Dispatcher) -> Bool {
    guard let first = first as? DispatchQueue, let second = second as? DispatchQueue else { return false }
    return QueueToken.find(in: first) === QueueToken.find(in: second)
}

private final class QueueToken: Sendable {
    private static let key = DispatchSpecificKey<QueueToken>()
    private static let lookUp = SpinLocked(())

    static func find(in queue: DispatchQueue) -> QueueToken {
        lookUp.withLock { _ in
            if let token = queue.getSpecific(key: key) { return token }
            let token = QueueToken()
            queue.setSpecific(key: key, value: token)
            return token
        }
    }
}
#endif
