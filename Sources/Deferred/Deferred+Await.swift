extension Deferred {
    /// The value, once this Deferred is resolved; throws the error if it fails.
    ///
    /// The Task is a consumer of this Deferred, and so handles its failure. If the Task is cancelled while it
    /// waits, this throws `CancellationError` at once, and cancels what this Deferred waits for if nothing else
    /// consumes that (as ``cancel()`` on a position of its own does).
    @inlinable
    public nonisolated(nonsending) var value: Value {
        get async throws { try await result.get() }
    }

    /// The outcome, once this Deferred is settled; see ``value``.
    @inlinable
    public nonisolated(nonsending) var result: Result<Value, any Error> {
        get async {
            if link.peekIfIdle() { return link.payload.result() }
            guard let awaiting = await link.awaitOutcome() else { return .failure(CancellationError()) }
            return awaiting.payload.result()
        }
    }
}
