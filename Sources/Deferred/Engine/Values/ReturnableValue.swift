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
    @usableFromInline @exclusivity(unchecked) final var value: Payload
    private let isReceived = Atomic<Bool>(false)

    @usableFromInline
    init(_ value: consuming Payload) { self.value = value }

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

extension Payload {
    @usableFromInline
    static func returnable(_ value: ReturnableValue) -> Payload {
        Payload(.returnable, retaining: value)
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
