internal import Synchronization

/// A value that is given back if nobody receives it (V1).
///
/// It travels as an outcome: a payload of the kind `returnable` refers to it, and copies of the payload, wherever the
/// value is passed on unchanged, refer to the same object. Reading the value for a user's code marks it as received
/// (`Payload.value()`, `result()`). With the last payload this object is released, outside all locks; if nobody has
/// received the value, it is then given back: by a subclass, in its `deinit`.
///
/// Other values know nothing of this: the kind of their payload is another.
@usableFromInline
class ReturnableValue: @unchecked Sendable {
    /// Sound as `@unchecked Sendable`: it never changes before the last reference is released, and is `Sendable` itself;
    /// the subclasses are final.
    @usableFromInline @exclusivity(unchecked) final fileprivate(set) var value: Link.Payload
    private let isReceived = Atomic<Bool>(false)

    @usableFromInline
    init(_ value: consuming Link.Payload) { self.value = value }

    /// Whether a user's code has received it.
    final var wasReceived: Bool { isReceived.load(ordering: .acquiring) }

    /// Notes that a user's code is about to receive the value. Called on the thread of that, before it has the value.
    @usableFromInline
    final func receive() {
        if wasReceived || isReceived.exchange(true, ordering: .acquiringAndReleasing) { return }
        didReceive()
    }

    /// Called once, when the value is received for the first time.
    func didReceive() {}
}

/// A value of a user's, with the closure that takes it back.
@usableFromInline
final class ValueWithReturn: ReturnableValue, @unchecked Sendable {
    /// Sound as `@unchecked Sendable`: it changes once before the last reference is released, by the thread that receives
    /// the value first, and is read after that.
    @exclusivity(unchecked) private var onUndelivered: (@Sendable (borrowing Link.Payload) -> Void)?

    @usableFromInline
    init(
        _ value: consuming Link.Payload, _ onUndelivered: @escaping @Sendable (borrowing Link.Payload) -> Void
    ) {
        if let values = DeferredTaskLocals.carried {
            self.onUndelivered = { value in values.run { onUndelivered(value) } }
        } else {
            self.onUndelivered = onUndelivered
        }
        super.init(value)
    }

    /// The closure will not be called: it is released now, and not with the last handle that has the value.
    override func didReceive() {
        guard let closure = onUndelivered.take() else { return }
        NestedWork.run(.closure { withExtendedLifetime(closure) {} })
    }

    /// The value and the closure may own further values: they are released with the work, and not after it (F6).
    deinit { NestedWork.run(takeWork()) }

    /// In the `deinit`: takes out what this object owns, so that only the work has it.
    private func takeWork() -> NestedWork.Item {
        let wasReceived = wasReceived
        let (closure, returned) = (onUndelivered.take(), ReturnableValue(takeValue()))
        return .closure { if !wasReceived { closure?(returned.value) } }
    }

    private func takeValue() -> Link.Payload {
        var taken = Link.Payload.none
        swap(&taken, &value)
        return taken
    }
}

extension Link.Payload {
    /// An outcome with a value; with one that is given back if nobody receives it, where there is a closure for that.
    @inlinable
    @inline(__always)
    static func value<Value: Sendable>(
        _ value: Value, _ onUndelivered: (@Sendable (Value) -> Void)?
    ) -> Link.Payload {
        guard let onUndelivered else { return .value(value) }
        return .returnable(ValueWithReturn(.value(value)) { onUndelivered($0.value()) })
    }

    @usableFromInline
    static func returnable(_ value: ReturnableValue) -> Link.Payload {
        Link.Payload(.returnable, retaining: value)
    }

    /// The value of an outcome of the kind `returnable`, which is received.
    @usableFromInline
    @inline(never)
    func receivedValue<Value: Sendable>() -> Value {
        let returnable = content(as: ReturnableValue.self)
        returnable.receive()
        return returnable.value.value()
    }

    /// The outcome for code that only looks at what is passed on: a value is not received.
    @inlinable
    func resultPassedOn<Value: Sendable>() -> Result<Value, any Error> {
        kind == .returnable ? content(as: ReturnableValue.self).value.result() : result()
    }
}
