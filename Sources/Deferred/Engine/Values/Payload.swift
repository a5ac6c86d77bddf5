/// The payload of a link: the pending step until the link is settled, then the outcome. Also what a step
/// receives and returns.
///
/// This is the engine's most frequently moved value, so its layout is explicit: four words and a kind,
/// which are moved and never copied implicitly. A value of up to three words without references is stored
/// in the words, with its type in the fourth, so that an `Int` costs one load and one store; an object is
/// one reference; a larger value is in a `Box`; any other is stored as an `any Sendable`.
///
/// The unsafe operations on payloads are sound because of one invariant: **`kind` says what `bits`
/// contain**. It is set where the bits are written and never changes. (Of the kind `none`, the bits of a link that is
/// `dispatched` are the address of its ``DispatchedStep``, and those of any other are 0.) Taking out what the bits contain
/// ends the payload (`discard self`), so that each reference in it is released once. A value is taken out
/// as the type that it was stored as: both belong to one `Deferred<Value>`.
@usableFromInline
struct Payload: ~Copyable {
    /// Receives the outcome that a link waited for, and returns a value, a failure, or a link to wait for.
    @usableFromInline
    typealias Step = @Sendable (borrowing Payload) -> Payload

    @usableFromInline typealias Bits = (UInt, UInt, UInt, UInt)

    @usableFromInline
    enum Kind: UInt8, Sendable {
        case none
        /// Take the outcome unchanged.
        case adopt
        /// Do nothing: the link continues to be a consumer until the outcome reaches it, as that of a shield or of an
        /// await that was cancelled.
        case noOp
        /// Resume the Task that waits; it reads the outcome from the link.
        case awaiting
        /// A value in the first three words; the fourth is its type.
        case bitwiseValue
        // The kinds from here on retain something, which is released with the payload.
        /// A value that is one reference to an object.
        case object
        /// A value in a `Box`.
        case boxed
        /// A value as `any Sendable`, in all four words.
        case existential
        case failure
        /// A value that is given back if nobody receives it: a ``ReturnableValue``.
        case returnable
        /// Run a closure, which is in the first two words, by the function in the other two.
        case step
        /// As `step`, on a dispatcher.
        case dispatchedStep
        /// Call a closure of the library's, which is in the first two words, with the drain loop; then
        /// take the outcome unchanged.
        case hook
        /// Notify a list of the outcome of the input at the index in the second word.
        case observer
        /// Complete another source.
        case forward
        /// The result of a step: take the outcome of this link.
        case wait
    }

    @usableFromInline let bits: Bits
    @usableFromInline let kind: Kind

    @inlinable
    @inline(__always)
    init(_ kind: Kind, _ bits: Bits = (0, 0, 0, 0)) {
        self.bits = bits
        self.kind = kind
    }

    @inlinable
    deinit {
        if kind.rawValue >= Kind.object.rawValue { Payload.release(kind, bits) }
    }
}

/// Sound as `@unchecked Sendable`: what it contains is `Sendable`, and it never changes.
extension Payload: @unchecked Sendable {}

/// Sound: each operation is for payloads of one kind, which says what the bits contain; see ``Payload``.
extension Payload {
    @inlinable static var none: Payload { Payload(.none) }
    static var adopt: Payload { Payload(.adopt) }
    static var noOp: Payload { Payload(.noOp) }

    init(_ kind: Kind, retaining object: AnyObject, _ second: UInt = 0) {
        self.init(kind, (UInt(bitPattern: Unmanaged.passRetained(object).toOpaque()), second, 0, 0))
    }

    /// Takes out the object of a payload whose first word is a reference.
    consuming func takeReference<Object: AnyObject>(as type: Object.Type) -> Object {
        let address = bits.0
        discard self
        return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeRetainedValue()
    }

    /// Releases what a payload with these bits retains, of a kind that retains something.
    ///
    /// Sound: an `any Error` is one reference. On Apple platforms it may be an Objective-C object, as an
    /// `AnyObject` may. A closure's context never is.
    @usableFromInline
    @inline(never)
    static func release(_ kind: Kind, _ bits: Bits) {
        switch kind {
        case .existential: releaseExistential(bits)
        case .step, .hook:
            context(of: bits.1)?.release()
            context(of: bits.3)?.release()
        default: Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(bitPattern: bits.0)!).release()
        }
    }

    @inline(never)
    private static func releaseExistential(_ bits: Bits) {
        var bits = bits
        withUnsafeMutablePointer(to: &bits) {
            let memory = UnsafeMutableRawPointer($0).assumingMemoryBound(to: (any Sendable).self)
            _ = memory.deinitialize(count: 1)
        }
    }
}

// MARK: - Steps

/// Steps: what a link does with the outcome that it waits for.
///
/// Sound: each operation is for payloads of one kind, which says what the bits contain; see ``Payload``.
/// A closure of any type is two words, of which the second is a reference to its context, a Swift object, or
/// 0.
extension Payload {
    /// A step that takes the closure out of the memory at an address, and calls it.
    @usableFromInline
    typealias Runner = @Sendable (UnsafeMutableRawPointer, borrowing Payload) -> Payload

    @usableFromInline
    struct StoredRunner {
        @usableFromInline let run: Runner
        @inlinable init(_ run: @escaping Runner) { self.run = run }
    }

    /// Stores a closure of a user's and the step that calls it.
    ///
    /// The closure itself is in the payload, and `run`, which captures nothing, is compiled for its types: a
    /// step needs no context beside the closure's own. Storing copies the words of both closures and retains
    /// their contexts once; that is sound, as a copy of a closure is just that.
    @inlinable
    @inline(__always)
    static func step<Closure: StoredClosure>(
        _ closure: Closure,
        _ run: @escaping @Sendable (borrowing Closure, borrowing Payload) -> Payload
    ) -> Payload {
        let runner = StoredRunner { run($0.assumingMemoryBound(to: Closure.self).move(), $1) }
        return withExtendedLifetime((closure, runner)) {
            let bits = unsafeBitCast($0, to: Bits.self)
            _ = context(of: bits.1)?.retain()
            _ = context(of: bits.3)?.retain()
            return Payload(.step, bits)
        }
    }

    /// Stores a closure that is a step itself.
    @usableFromInline
    static func step(_ step: @escaping Payload.Step) -> Payload {
        .step(StoredStep(step)) { $0.closure($1) }
    }

    /// Runs a step, which releases its closure.
    ///
    /// Sound: the runner is in the last two words, and takes the closure out of the first two as the type
    /// that was stored there together with it. Each is taken out once. A specialised runner has no context
    /// (the fourth word is 0); it is called with one known to be absent, which saves a retain and a release.
    @inline(__always)
    consuming func run(_ input: borrowing Payload) -> Payload {
        var bits = bits
        discard self
        return withUnsafeMutablePointer(to: &bits) {
            let memory = UnsafeMutableRawPointer($0)
            if $0.pointee.3 == 0 {
                return unsafeBitCast(($0.pointee.2, 0 as UInt), to: StoredRunner.self).run(memory, input)
            }
            let last = memory + MemoryLayout<StoredRunner>.size
            return last.assumingMemoryBound(to: StoredRunner.self).move().run(memory, input)
        }
    }

    /// The context of a closure that is stored in two words; some have none. (Retained and released as a Swift
    /// object: it is not of a class, as an `AnyObject` is.)
    @inlinable
    @inline(__always)
    static func context(of word: UInt) -> Unmanaged<ClosureContext>? {
        UnsafeRawPointer(bitPattern: word).map { Unmanaged.fromOpaque($0) }
    }

    /// Stands for the type of contexts, which has no name.
    @usableFromInline
    final class ClosureContext {}
}

// MARK: - Awaiting

/// What stands for a Task that waits.
extension Payload {
    /// - Parameter continuation: `nil` until the Task is suspended.
    static func awaiting(_ continuation: UnsafeContinuation<Void, Never>?) -> Payload {
        Payload(.awaiting, (continuation.map { unsafeBitCast($0, to: UInt.self) } ?? 0, 0, 0, 0))
    }

    /// Resumes the Task of an `awaiting` payload; returns false if it is not suspended.
    ///
    /// Sound: a continuation is one word. It is resumed once, since only one thread can take the payload out
    /// of the link, under its lock.
    @discardableResult
    consuming func resume() -> Bool {
        guard kind == .awaiting, bits.0 != 0 else { return false }
        unsafeBitCast(bits.0, to: UnsafeContinuation<Void, Never>.self).resume()
        return true
    }
}
