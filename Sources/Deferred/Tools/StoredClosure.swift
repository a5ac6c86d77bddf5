/// A closure that a link stores in two words of its payload.
///
/// A closure is wrapped in a struct with its own signature because a bare one, passed as a generic parameter,
/// would be converted to the most general signature, by a thunk with a context of its own. There is one
/// struct for each signature that the public functions have.
@usableFromInline
protocol StoredClosure: Sendable {}

/// A closure that returns a value.
@usableFromInline
struct ValueClosure<Input, Output>: StoredClosure {
    @usableFromInline let closure: @Sendable (Input) throws -> Output

    @inlinable
    init(_ closure: @escaping @Sendable (Input) throws -> Output) { self.closure = closure }
}

/// A closure that returns nothing.
@usableFromInline
struct VoidClosure<Input>: StoredClosure {
    @usableFromInline let closure: @Sendable (Input) throws -> Void

    @inlinable
    init(_ closure: @escaping @Sendable (Input) throws -> Void) { self.closure = closure }
}

/// A closure that receives any error and returns a value.
@usableFromInline
struct ErrorValueClosure<Output>: StoredClosure {
    @usableFromInline let closure: @Sendable (any Error) throws -> Output

    @inlinable
    init(_ closure: @escaping @Sendable (any Error) throws -> Output) { self.closure = closure }
}

/// A closure that receives any error and returns nothing.
@usableFromInline
struct ErrorVoidClosure: StoredClosure {
    @usableFromInline let closure: @Sendable (any Error) throws -> Void

    @inlinable
    init(_ closure: @escaping @Sendable (any Error) throws -> Void) { self.closure = closure }
}

/// A closure that is a step itself.
@usableFromInline
struct StoredStep: StoredClosure {
    @usableFromInline let closure: Payload.Step

    @inlinable
    init(_ closure: @escaping Payload.Step) { self.closure = closure }
}
