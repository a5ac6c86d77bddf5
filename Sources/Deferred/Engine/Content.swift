extension Link {
    /// What a link holds: first what is to be done at its turn, then its outcome. Also what a step takes and
    /// gives.
    ///
    /// It is this machine's hottest value, passed on at every link, so it is laid out by hand: four words and
    /// a kind, moved as they are and never copied by accident. A value of up to three words without
    /// references lies in the words, and its type in the fourth, so that `Int` costs a load and a store; an
    /// object is one reference; anything else is an `any Sendable`. The typed skin, which knows the type,
    /// picks the way, and so reads with no more than a load.
    ///
    /// What is unsafe here is safe because of one invariant: **`kind` says what `bits` hold**. It is set
    /// where the bits are written and never changes; taking out what the bits hold ends the content (`discard
    /// self`). A `value` is taken out as the type it was put in as: both belong to one `Deferred<Value>`.
    @usableFromInline
    struct Content: ~Copyable {
        @usableFromInline typealias Bits = (UInt, UInt, UInt, UInt)

        @usableFromInline
        enum Kind: UInt8 {
            case none
            /// Take the outcome as it is.
            case adopt
            /// Nothing: it goes on consuming, for a shield that was cancelled, or until its turn comes.
            case consume
            /// A value in the first three words; the fourth is its type.
            case bitwiseValue
            // From here on there is something to let go at the end.
            /// A value that is one reference to an object.
            case object
            /// A value as `any Sendable`, in all four words.
            case existential
            case failure
            /// Run this with the outcome of what the link waits for.
            case step
            /// As `step`, on a dispatcher.
            case handover
            /// Tell a list, of the input at the index in the second word.
            case watch
            /// Fire another source.
            case forward
            /// A step's answer: take the outcome of this one.
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
            if kind.rawValue >= Kind.object.rawValue { Content.release(kind, bits) }
        }
    }
}

/// Sound as `@unchecked Sendable`: what it can hold is, and it never changes.
extension Link.Content: @unchecked Sendable {}

// MARK: - Outcomes

extension Link.Content {
    /// How values of a type are kept. The same wherever it is asked, and known when the skin is compiled.
    @inlinable
    @inline(__always)
    static func kind<Value>(of type: Value.Type) -> Kind {
        if _isPOD(type) && MemoryLayout<Value>.size <= 24 && MemoryLayout<Value>.alignment <= 8 {
            return .bitwiseValue
        }
        if MemoryLayout<Value>.size == MemoryLayout<UInt>.size && type is AnyObject.Type { return .object }
        return .existential
    }

    @inlinable
    @inline(__always)
    static func value<Value: Sendable>(_ value: Value) -> Link.Content {
        let kind = kind(of: Value.self)
        var bits: Bits = (0, 0, 0, 0)
        switch kind {
        case .bitwiseValue:
            withUnsafeMutablePointer(to: &bits) {
                _ = UnsafeMutableRawPointer($0).initializeMemory(as: Value.self, to: value)
            }
            bits.3 = unsafeBitCast(Value.self as Any.Type, to: UInt.self)
        case .object:
            bits.0 = UInt(
                bitPattern: Unmanaged.passRetained(unsafeBitCast(value, to: AnyObject.self)).toOpaque())
        default:
            withUnsafeMutablePointer(to: &bits) {
                _ = UnsafeMutableRawPointer($0).initializeMemory(as: (any Sendable).self, to: value)
            }
        }
        return Link.Content(kind, bits)
    }

    @inlinable
    static func failure(_ error: any Error) -> Link.Content {
        var bits: Bits = (0, 0, 0, 0)
        withUnsafeMutablePointer(to: &bits) {
            _ = UnsafeMutableRawPointer($0).initializeMemory(as: (any Error).self, to: error)
        }
        return Link.Content(.failure, bits)
    }

    @inlinable
    init<Value: Sendable>(_ result: Result<Value, any Error>) {
        switch result {
        case .success(let value): self = .value(value)
        case .failure(let error): self = .failure(error)
        }
    }

    @inlinable
    @inline(__always)
    var isFailure: Bool { kind == .failure }

    /// The error, nil for a value.
    @inlinable
    var error: (any Error)? {
        guard isFailure else { return nil }
        return withUnsafePointer(to: bits) {
            UnsafeRawPointer($0).assumingMemoryBound(to: (any Error).self).pointee
        }
    }

    /// The value, of an outcome that is one.
    @inlinable
    @inline(__always)
    func value<Value: Sendable>() -> Value {
        switch Self.kind(of: Value.self) {
        case .bitwiseValue:
            return withUnsafePointer(to: bits) {
                UnsafeRawPointer($0).assumingMemoryBound(to: Value.self).pointee
            }
        case .object:
            return unsafeBitCast(reference(as: AnyObject.self), to: Value.self)
        default:
            // Opened by name: an `any Sendable` is `Sendable` itself, and so need not be opened to be passed
            // on.
            func cast<Boxed>(_ value: Boxed) -> Value {
                withUnsafePointer(to: value) {
                    UnsafeRawPointer($0).assumingMemoryBound(to: Value.self).pointee
                }
            }
            return withUnsafePointer(to: bits) {
                _openExistential(
                    UnsafeRawPointer($0).assumingMemoryBound(to: (any Sendable).self).pointee as Any, do: cast
                )
            }
        }
    }

    @inlinable
    func result<Value: Sendable>() -> Result<Value, any Error> {
        if let error { .failure(error) } else { .success(value()) }
    }

    /// The same outcome once more.
    @inlinable
    @inline(__always)
    func copy() -> Link.Content {
        kind == .bitwiseValue ? Link.Content(kind, bits) : copyCounted()
    }

    /// As `copy()`, for what holds references.
    @usableFromInline
    func copyCounted() -> Link.Content {
        var copy = bits
        switch kind {
        case .object:
            _ = Unmanaged.passRetained(reference(as: AnyObject.self))
        case .existential:
            withUnsafePointer(to: bits) { source in
                let value = UnsafeRawPointer(source).assumingMemoryBound(to: (any Sendable).self).pointee
                withUnsafeMutablePointer(to: &copy) {
                    _ = UnsafeMutableRawPointer($0).initializeMemory(as: (any Sendable).self, to: value)
                }
            }
        case .failure:
            if let error { return .failure(error) }
        case .none, .bitwiseValue:
            break
        case .adopt, .consume, .step, .handover, .watch, .forward, .wait:
            preconditionFailure("what is to be done is done once")
        }
        return Link.Content(kind, copy)
    }
}

// MARK: - What is to be done

extension Link.Content {
    @inlinable static var none: Link.Content { Link.Content(.none) }
    static var adopt: Link.Content { Link.Content(.adopt) }
    static var consume: Link.Content { Link.Content(.consume) }

    /// Takes the outcome of what a link waited for, and gives a value, a failure, or a link to wait for.
    @usableFromInline
    typealias Step = @Sendable (borrowing Link.Content) -> Link.Content

    /// A closure in a struct is kept in memory as it is; bare, it would be wrapped for its generic context.
    @usableFromInline
    struct StepBox {
        let step: Step
    }

    @usableFromInline
    static func step(_ step: @escaping Step) -> Link.Content {
        var bits: Bits = (0, 0, 0, 0)
        withUnsafeMutablePointer(to: &bits) {
            _ = UnsafeMutableRawPointer($0).initializeMemory(as: StepBox.self, to: StepBox(step: step))
        }
        return Link.Content(.step, bits)
    }

    @usableFromInline
    static func handover(_ handover: Handover) -> Link.Content {
        Link.Content(.handover, retaining: handover)
    }

    static func watch(_ list: ListState, index: Int) -> Link.Content {
        Link.Content(.watch, retaining: list, UInt(bitPattern: index))
    }

    static func forward(to source: Link) -> Link.Content { Link.Content(.forward, retaining: source) }

    @usableFromInline
    static func wait(for link: Link) -> Link.Content { Link.Content(.wait, retaining: link) }

    private init(_ kind: Kind, retaining object: AnyObject, _ second: UInt = 0) {
        self.init(kind, (UInt(bitPattern: Unmanaged.passRetained(object).toOpaque()), second, 0, 0))
    }

    consuming func takeStep() -> Step {
        var bits = bits
        discard self
        return withUnsafeMutablePointer(to: &bits) {
            UnsafeMutableRawPointer($0).assumingMemoryBound(to: StepBox.self).move().step
        }
    }

    /// What a content that is a reference refers to.
    consuming func takeReference<Object: AnyObject>(as type: Object.Type) -> Object {
        takeUnmanaged(as: type).takeRetainedValue()
    }

    /// As `takeReference`, for one who must know where the last hold on it goes.
    consuming func takeUnmanaged<Object: AnyObject>(as type: Object.Type) -> Unmanaged<Object> {
        let address = bits.0
        discard self
        return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
    }

    @inlinable
    @inline(__always)
    func reference<Object: AnyObject>(as type: Object.Type) -> Object {
        Unmanaged<Object>.fromOpaque(UnsafeRawPointer(bitPattern: bits.0)!).takeUnretainedValue()
    }

    /// Nothing to do: `handover` has the step, and lives at least until it has taken this back, under the
    /// link's lock.
    static func none(handedOverTo handover: Handover) -> Link.Content {
        Link.Content(.none, (UInt(bitPattern: Unmanaged.passUnretained(handover).toOpaque()), 0, 0, 0))
    }

    /// Where the step runs or will run, if not here. Under the link's lock: the handover, of which nobody may
    /// take hold, then lives at least until that is let go.
    var dispatcher: (any Dispatcher)? {
        switch kind {
        case .handover, .none:
            guard let address = UnsafeRawPointer(bitPattern: bits.0) else { return nil }
            return Unmanaged<Handover>.fromOpaque(address)._withUnsafeGuaranteedRef { $0.dispatcher }
        default: return nil
        }
    }

    /// The place of the input that a `watch` is for.
    var watchIndex: Int { Int(bitPattern: bits.1) }

    @usableFromInline
    static func release(_ kind: Kind, _ bits: Bits) {
        var bits = bits
        withUnsafeMutablePointer(to: &bits) {
            let memory = UnsafeMutableRawPointer($0)
            switch kind {
            case .none, .adopt, .consume, .bitwiseValue:
                break
            case .existential:
                memory.assumingMemoryBound(to: (any Sendable).self).deinitialize(count: 1)
            case .failure:
                memory.assumingMemoryBound(to: (any Error).self).deinitialize(count: 1)
            case .step:
                memory.assumingMemoryBound(to: StepBox.self).deinitialize(count: 1)
            case .object, .handover, .watch, .forward, .wait:
                memory.assumingMemoryBound(to: AnyObject.self).deinitialize(count: 1)
            }
        }
    }
}

extension Link.Content {
    /// The outcome in words.
    func describeOutcome() -> String {
        func describe<Value>(_ type: Value.Type) -> String {
            withUnsafePointer(to: bits) {
                "\(UnsafeRawPointer($0).assumingMemoryBound(to: Value.self).pointee)"
            }
        }
        return switch kind {
        case .bitwiseValue: "value " + describe(unsafeBitCast(bits.3, to: Any.Type.self))
        case .object: "value \(reference(as: AnyObject.self))"
        case .existential: "value " + describe((any Sendable).self)
        case .failure: error.map { "failure \($0)" } ?? "failure"
        default: "no outcome"
        }
    }
}
