/// Outcomes: a value or a failure.
///
/// The unsafe operations are sound by the invariant of ``Payload``, and because the bits, of four words,
/// have room and alignment for what is stored in them: a value that `fitsInWords`, an `any Sendable` (four
/// words) or an `any Error` (one word). A metatype, which stands beside a bitwise value, is one word.
extension Payload {
    /// Whether values of a type can be stored in the words, or in the buffer of an `any Sendable`.
    @inlinable
    @inline(__always)
    static func fitsInWords<Value>(_ type: Value.Type) -> Bool {
        fits(size: MemoryLayout<Value>.size, alignment: MemoryLayout<Value>.alignment, inWordsOf: UInt.self)
    }

    /// Whether a value of that many bytes fits in three words of a type: `UInt`, and in tests those of other
    /// machines.
    @inlinable
    @inline(__always)
    static func fits<Unit>(size: Int, alignment: Int, inWordsOf unit: Unit.Type) -> Bool {
        size <= 3 * MemoryLayout<Unit>.size && alignment <= MemoryLayout<Unit>.alignment
    }

    /// Stores a value of a type that does not fit in the words.
    @usableFromInline
    final class Box<Value: Sendable>: Sendable, CustomStringConvertible {
        @usableFromInline let value: Value
        @inlinable init(_ value: Value) { self.value = value }
        @usableFromInline var description: String { "\(value)" }
    }

    /// Returns bits that contain `content`, and retain what that does; the others are 0. The type is passed,
    /// since an existential is stored as such, and not opened.
    @inlinable
    @inline(__always)
    static func bits<Content>(with content: Content, as type: Content.Type) -> Bits {
        var bits: Bits = (0, 0, 0, 0)
        withUnsafeMutablePointer(to: &bits) {
            _ = UnsafeMutableRawPointer($0).initializeMemory(as: type, to: content)
        }
        return bits
    }

    /// What the bits contain.
    @inlinable
    @inline(__always)
    func content<Content>(as type: Content.Type) -> Content {
        withUnsafePointer(to: bits) { UnsafeRawPointer($0).assumingMemoryBound(to: type).pointee }
    }

    @inlinable
    @inline(__always)
    static func value<Value: Sendable>(_ value: Value) -> Payload {
        if !fitsInWords(Value.self) {
            return Payload(.boxed, bits(with: Box(value), as: Box<Value>.self))
        }
        if _isPOD(Value.self) {
            var bits = bits(with: value, as: Value.self)
            bits.3 = unsafeBitCast(Value.self as Any.Type, to: UInt.self)
            return Payload(.bitwiseValue, bits)
        }
        if MemoryLayout<Value>.size == MemoryLayout<UInt>.size && Value.self is AnyObject.Type {
            return Payload(.object, bits(with: value, as: Value.self))
        }
        return Payload(.existential, bits(with: value, as: (any Sendable).self))
    }

    /// - Parameter silence: Not 0 if no link reports the failure; see `ofCancelledWork()`.
    @inlinable
    static func failure(_ error: any Error, silence: UInt = 0) -> Payload {
        var bits = bits(with: error, as: (any Error).self)
        bits.1 = silence
        return Payload(.failure, bits)
    }

    @inlinable
    init<Value: Sendable>(_ result: Result<Value, some Error>) {
        switch result {
        case .success(let value): self = .value(value)
        // Cast, since an `any Error` would be stored in another, and that in a third where it is passed on.
        case .failure(let error): self = .failure((error as Any) as! any Error)
        }
    }

    @inlinable
    @inline(__always)
    var isFailure: Bool { kind == .failure }

    /// The error, nil for a value.
    @inlinable
    var error: (any Error)? {
        isFailure ? content(as: (any Error).self) : nil
    }

    /// Whether it is a failure with `CancellationError`. (A cast of no error would cost more than the test.)
    var isCancellation: Bool { isFailure && error is CancellationError }

    /// Returns the same outcome, a failure that no link reports (U1). What says so is in the word
    /// after the error, and so stays with the failure wherever that is passed on unchanged.
    consuming func ofCancelledWork() -> Payload {
        guard isFailure else { return self }
        let error = bits.0
        discard self
        return Payload(.failure, (error, 1, 0, 0))
    }

    /// Whether this is the failure of work that was cancelled.
    var isOfCancelledWork: Bool { isFailure && bits.1 != 0 }

    /// The value, of an outcome that is one: for a user's code, which thereby receives it (V1).
    ///
    /// Reads the kind that was stored, and does not derive it from the type again: specialised and
    /// unspecialised code may differ in what they find out about a type (whether `Base & Sendable` is a
    /// class, for one).
    @inlinable
    @inline(__always)
    func value<Value: Sendable>() -> Value {
        Self.fitsInWords(Value.self) && kind == .bitwiseValue ? content(as: Value.self) : countedValue()
    }

    /// As `value()`, for a value that is not stored bitwise.
    @inlinable
    func countedValue<Value: Sendable>() -> Value {
        if !Self.fitsInWords(Value.self) {
            return kind == .boxed ? content(as: Box<Value>.self).value : receivedValue()
        }
        if MemoryLayout<Value>.size == MemoryLayout<UInt>.size, kind == .object {
            return content(as: Value.self)
        }
        if kind == .returnable { return receivedValue() }
        // Opened by name: an `any Sendable` is `Sendable` itself, and so need not be opened to be passed on.
        // Sound: what is stored is a `Value`, since a Deferred's outcomes have its type.
        func cast<Stored>(_ value: Stored) -> Value {
            withUnsafePointer(to: value) {
                UnsafeRawPointer($0).assumingMemoryBound(to: Value.self).pointee
            }
        }
        return _openExistential(content(as: (any Sendable).self) as Any, do: cast)
    }

    @inlinable
    func result<Value: Sendable>() -> Result<Value, any Error> {
        if let error { .failure(error) } else { .success(value()) }
    }

    /// Returns another payload with the same outcome. (Inlined, as most callers know the kind.)
    @inlinable
    @inline(__always)
    func copy() -> Payload {
        switch kind {
        case .none, .bitwiseValue: break
        case .object, .boxed, .failure, .returnable:
            _ = Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(bitPattern: bits.0)!).retain()
        default: return Payload.copyExistential(kind, bits)
        }
        return Payload(kind, bits)
    }

    @usableFromInline
    @inline(never)
    static func copyExistential(_ kind: Kind, _ bits: Bits) -> Payload {
        precondition(kind == .existential, "a pending step runs once and is not copied")
        let value = withUnsafePointer(to: bits) {
            UnsafeRawPointer($0).assumingMemoryBound(to: (any Sendable).self).pointee
        }
        return Payload(kind, Self.bits(with: value, as: (any Sendable).self))
    }

    /// Returns the outcome that `body` returns or throws.
    @inlinable
    @inline(__always)
    static func catching(_ body: () throws -> some Sendable) -> Payload {
        do { return .value(try body()) } catch { return .failure(error) }
    }

    /// The outcome in words.
    func describeOutcome() -> String {
        // Sound: called with the type that was stored, which a bitwise value has in its fourth word.
        func describe<Value>(_ type: Value.Type) -> String { "\(content(as: type))" }
        return switch kind {
        case .bitwiseValue: "value " + describe(unsafeBitCast(bits.3, to: Any.Type.self))
        case .object, .boxed: "value \(content(as: AnyObject.self))"
        case .existential: "value " + describe((any Sendable).self)
        case .returnable: content(as: ReturnableValue.self).value.describeOutcome()
        case .failure: error.map { "failure \($0)" } ?? "failure"
        default: "no outcome"
        }
    }
}
