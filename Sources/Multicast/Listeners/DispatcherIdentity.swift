internal import Deferred
import Dispatch

/// The location of a caller, for diagnostics and for messages that stop the program.
struct CallSite: Sendable {
    let fileID: StaticString
    let line: UInt
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
