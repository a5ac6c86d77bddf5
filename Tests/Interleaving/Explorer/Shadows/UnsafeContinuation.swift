/// Takes the place of the standard library's continuation in the module, so that a scenario sees how an await
/// is resumed: no Task is needed, and none runs. As small and as trivial as that one.
struct UnsafeContinuation<T, E: Error>: Sendable {
    let number: UInt

    func resume(returning value: sending T) { Continuations.resume(number, value) }

    func resume(throwing error: E) { Continuations.resume(number, error) }
}

extension UnsafeContinuation where T == Void {
    func resume() { Continuations.resume(number, ()) }
}

enum Continuations {
    /// Sound as `nonisolated(unsafe)`: one fiber runs at a time, and switches only at scheduling points.
    nonisolated(unsafe) private static var handlers: [UInt: (Any) -> Void] = [:]
    nonisolated(unsafe) private static var count: UInt = 0

    /// Makes a continuation that calls `resumed` with the value, or the error.
    static func make<T, E>(_ resumed: @escaping (Any) -> Void) -> UnsafeContinuation<T, E> {
        count += 1
        handlers[count] = resumed
        // The address of an object is a multiple of 16: what is read out of a continuation's bits may be
        // combined with flags.
        return UnsafeContinuation(number: count << 4)
    }

    static func resume(_ number: UInt, _ value: Any) {
        guard let resumed = handlers[number >> 4] else { fatalError("a continuation was resumed twice") }
        resumed(value)
    }

    static func forgetAll() { handlers = [:] }
}

/// Nothing awaits in a run; scenarios call what is in `body`.
nonisolated(nonsending) func withUnsafeContinuation<T>(
    _ body: (UnsafeContinuation<T, Never>) -> Void
) async -> T {
    fatalError("an await in a run")
}

nonisolated(nonsending) func withUnsafeThrowingContinuation<T>(
    _ body: (UnsafeContinuation<T, any Error>) -> Void
) async throws -> T {
    fatalError("an await in a run")
}
