internal import Deferred
import Dispatch

/// A weak reference to a dispatcher: of a question, or of a listener that its registry calls no more.
///
/// Work that is submitted retains the question, which refers to the dispatchers of the delegates that are still to be
/// asked. A dispatcher that retains its work would therefore retain itself, and neither would ever be released. With
/// weak references, a dispatcher that is released with its work in it releases the question, which then fails with
/// `DeferredError.abandoned`. The registry retains its delegates' dispatchers. It does not retain those of listeners
/// that were taken or that ended, whose last work may be in such a dispatcher.
struct DispatcherReference: Dispatcher {
    fileprivate weak var object: (any Dispatcher & AnyObject)?

    /// Refers to that dispatcher; nil where it is to be retained: there is no weak reference to a dispatcher that is a
    /// value. A `DispatchQueue` runs its work even when it has no other reference, and off Darwin the object is one of
    /// several wrappers.
    init?(_ dispatcher: any Dispatcher) {
        guard type(of: dispatcher) is AnyClass, !(dispatcher is DispatchQueue) else { return nil }
        object = dispatcher as? any Dispatcher & AnyObject
    }

    /// Submits work; if the dispatcher has been released, releases it.
    func dispatch(_ work: @escaping @Sendable () -> Void) { object?.dispatch(work) }
}

/// Returns whether two dispatchers are the same: objects by identity, values by `==`.
///
/// Values without `==` can't be distinguished. A removal that silently does nothing, or removes too much,
/// would be worse than one that stops the program, with a message that names the caller.
func isSameDispatcher(_ first: any Dispatcher, _ second: any Dispatcher, _ site: CallSite) -> Bool {
    if let reference = first as? DispatcherReference { return reference.object === second as AnyObject }
    guard type(of: first) == type(of: second) else { return false }
    if type(of: first) is AnyClass {
        return first as AnyObject === second as AnyObject || isSameQueue(first, second)
    }
    guard let value = first as? any Equatable else {
        fatalError(
            "Removing by dispatcher needs dispatchers that can be compared: "
                + "make \(type(of: first)) a class or Equatable", file: site.fileID, line: site.line)
    }
    return isEqual(value, second)
}

private func isEqual<Value: Equatable>(_ value: Value, _ other: Any) -> Bool { value == other as? Value }

#if canImport(ObjectiveC)
private func isSameQueue(_ first: any Dispatcher, _ second: any Dispatcher) -> Bool { false }
#else
/// Off Darwin a `DispatchQueue` is a wrapper, and `DispatchQueue.main` and `.global()` return a new one each
/// time. So the first one is marked, with a key that only this call has, and the mark is looked for in the second.
private func isSameQueue(_ first: any Dispatcher, _ second: any Dispatcher) -> Bool {
    guard let first = first as? DispatchQueue, let second = second as? DispatchQueue else { return false }
    let key = DispatchSpecificKey<Bool>()
    first.setSpecific(key: key, value: true)
    defer { first.setSpecific(key: key, value: nil) }
    return second.getSpecific(key: key) != nil
}
#endif
