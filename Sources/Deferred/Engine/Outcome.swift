extension Link {
    /// A look at the outcome of a link, `value` or `failure`, where it lies: a copy would cost a link's price in reference
    /// counts and metadata. Valid during the call that it is passed to.
    @usableFromInline
    struct Outcome {
        @usableFromInline let content: UnsafePointer<Content>

        init(_ content: UnsafePointer<Content>) { self.content = content }

        /// The error, nil for a value.
        @inlinable
        var error: (any Error)? {
            if case .failure(let error) = content.pointee { error } else { nil }
        }

        @inlinable
        var isFailure: Bool {
            if case .failure = content.pointee { true } else { false }
        }

        /// The value, of an outcome that is one.
        @inlinable
        @inline(__always)
        func value<Value: Sendable>() -> Value { content.pointee.value() }

        @inlinable
        func result<Value: Sendable>() -> Result<Value, any Error> {
            if let error { .failure(error) } else { .success(value()) }
        }

        /// The outcome itself, to be passed on.
        @inlinable
        func copy() -> Content { content.pointee }
    }
}

extension Link {
    /// The outcome of a settled link.
    @inline(__always)
    var outcome: Outcome { Outcome(contentAddress) }

    /// Where `content` lies, for moving it and looking at it without a copy.
    ///
    /// Sound: a stored property of a final class lies at one offset in every instance, and stays there as long as the instance
    /// lives; whoever uses the address holds the link, and has the right to `content` that the property's comment asks for.
    @inline(__always)
    var contentAddress: UnsafeMutablePointer<Content> {
        (Unmanaged.passUnretained(self).toOpaque() + Link.contentOffset).assumingMemoryBound(to: Content.self)
    }

    private static let contentOffset: Int = {
        let link = Link(.source, .none, DeferredDiagnostic.Location())
        let start = Unmanaged.passUnretained(link).toOpaque()
        return withUnsafeMutablePointer(to: &link.content) { UnsafeMutableRawPointer($0) - start }
    }()
}

extension Link.Content {
    /// The value of an outcome that is known to be one.
    @inlinable
    @inline(__always)
    func value<Value: Sendable>() -> Value {
        guard case .value(let boxed) = self else { preconditionFailure("the outcome is known to be a value") }
        return unboxed(boxed)
    }

    /// The outcome with its type, nil if there is none yet.
    @inlinable
    func result<Value: Sendable>() -> Result<Value, any Error>? {
        switch self {
        case .value(let value): .success(unboxed(value))
        case .failure(let error): .failure(error)
        default: nil
        }
    }
}

/// The value in `boxed`, which is of type `Value`: the skin that boxed it had the same `Value` as the skin that takes it
/// out, since both belong to one link.
///
/// `as!` would do and is several times slower, for it looks for conversions. Sound for the reason above: the opened type is
/// `Value` itself.
@inlinable
@inline(__always)
func unboxed<Value: Sendable>(_ boxed: any Sendable) -> Value {
    func cast<Boxed: Sendable>(_ value: Boxed) -> Value {
        withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: Value.self).pointee }
    }
    return cast(boxed)
}
