/// A value of a user's, with the closure that takes it back.
@usableFromInline
final class ValueWithReturn: ReturnableValue, @unchecked Sendable {
    /// Sound as `@unchecked Sendable`: it changes once before the last reference is released, by the thread that receives
    /// the value first, and is read after that.
    @exclusivity(unchecked) private var onUndelivered: (@Sendable (borrowing Payload) -> Void)?

    @usableFromInline
    init(
        _ value: consuming Payload, _ onUndelivered: @escaping @Sendable (borrowing Payload) -> Void
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

    private func takeValue() -> Payload {
        var taken = Payload.none
        swap(&taken, &value)
        return taken
    }
}

extension Payload {
    /// An outcome with a value; with one that is given back if nobody receives it, where there is a closure for that.
    @inlinable
    @inline(__always)
    static func value<Value: Sendable>(
        _ value: Value, _ onUndelivered: (@Sendable (Value) -> Void)?
    ) -> Payload {
        guard let onUndelivered else { return .value(value) }
        return .returnable(ValueWithReturn(.value(value)) { onUndelivered($0.value()) })
    }
}
