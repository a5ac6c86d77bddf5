public import Dispatch

extension DispatchQueue {
    /// Runs `body` on this queue and returns a Deferred with what it returns or throws (Twisted's `deferToThread`).
    ///
    /// ```swift
    /// DispatchQueue.global().deferred { try Data(contentsOf: file) }
    ///     .done(on: .main) { show($0) }
    /// ```
    ///
    /// A cancel fails the Deferred with `CancellationError` at once: if `body` has not started, it never runs and is
    /// released; if it is running, it runs to its end, and its result is dropped. Callbacks attached before `body` is
    /// done run on this queue.
    public func deferred<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        start(fileID, line) { resolver in
            resolver.complete(with: Result(catching: body), fileID: fileID, line: line)
        }
    }

    /// Runs `body` on this queue and returns a Deferred with the outcome of the one that `body` returns.
    ///
    /// A cancel before `body` has started fails the Deferred with `CancellationError`, and `body` never runs; a later
    /// one cancels the Deferred that `body` returned.
    public func deferredFollowing<R: DeferredConvertible>(
        _ body: @escaping @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        start(fileID, line) { resolver in
            // Cancelled while `body` runs, what it makes is cancelled, too (C5).
            resolver.follow(orCancel: Deferred(following: body, fileID: fileID, line: line))
        }
    }

    /// Submits `work` with the resolver of the Deferred that it returns, unless that is cancelled before.
    private func start<Value: Sendable>(
        _ fileID: StaticString, _ line: UInt, _ work: @escaping @Sendable (Resolver<Value>) -> Void
    ) -> Deferred<Value> {
        let submitted = SpinLocked<(@Sendable (Resolver<Value>) -> Void)?>(work)
        let (deferred, resolver) = Deferred<Value>.withResolver(
            canceller: { _ in _ = submitted.withLock { $0.take() } }, fileID: fileID, line: line)
        async {
            let work = submitted.withLock { $0.take() }
            work?(resolver)
        }
        return deferred
    }
}
