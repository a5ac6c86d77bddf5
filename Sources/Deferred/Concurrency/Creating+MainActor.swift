/// Deferreds whose work is begun, or stopped, on the main actor.
extension Deferred {
    /// Creates a Deferred that `body`, which runs on the main actor, completes at once or later through the resolver
    /// that it receives: for an API of the main actor, used from anywhere.
    ///
    /// ```swift
    /// let photo = Deferred<Photo>(on: MainActor.self) { resolver in
    ///     picker.present { photo in resolver.resolve(photo) }
    /// }
    /// ```
    ///
    /// - Parameter body: Runs on the main actor, not before this returns, unless the Deferred is cancelled first. An
    ///   error that it throws rejects the Deferred, unless it has completed the resolver before. When the last copy of
    ///   the resolver is released unused, the Deferred fails with ``DeferredError/abandoned``.
    public init(
        on _: MainActor.Type, _ body: @escaping @MainActor @Sendable (Resolver) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self = Deferred<Void>.following(on: MainActor.self, fileID, line) {
            Deferred({ resolver in try body(resolver) }, fileID: fileID, line: line)
        }
    }

    /// Creates a pending Deferred with a closure of the main actor that stops the work which would complete it.
    /// Otherwise behaves as ``init(canceller:fileID:line:)``.
    ///
    /// ```swift
    /// let photo = Deferred<Photo>(on: MainActor.self, canceller: { _ in picker.dismiss() })
    /// ```
    ///
    /// - Parameter canceller: Runs on the main actor, once, if the Deferred is cancelled while pending: before
    ///   ``cancel()`` returns if that is called on the main actor, otherwise as soon as the main actor gets to it.
    ///   Until it has run the Deferred is pending, and takes a result that arrives; a position further down that was
    ///   cancelled fails with `CancellationError` all the same. If the canceller completes the resolver that it
    ///   receives, that is the outcome; otherwise the Deferred fails with `CancellationError`.
    @_disfavoredOverload
    public init(
        on _: MainActor.Type, canceller: @escaping @MainActor @Sendable (Resolver) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(fileID: fileID, line: line)
        setCanceller(on: MainActor.self, canceller)
    }

    /// Returns a pending Deferred and the resolver that completes it, with a closure of the main actor that stops the
    /// work. Otherwise behaves as ``withResolver(canceller:fileID:line:)``.
    ///
    /// - Parameter canceller: Runs on the main actor, and may do so later than ``cancel()`` returns: as in
    ///   ``init(on:canceller:fileID:line:)``.
    public static func withResolver(
        on _: MainActor.Type, canceller: @escaping @MainActor @Sendable (Resolver) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> (deferred: Deferred<Value>, resolver: Resolver) {
        let (deferred, resolver) = withResolver(fileID: fileID, line: line)
        deferred.setCanceller(on: MainActor.self, canceller)
        return (deferred, resolver)
    }

    /// Sets the canceller of a new source.
    private func setCanceller(
        on _: MainActor.Type, _ canceller: @escaping @MainActor @Sendable (Resolver) -> Void
    ) {
        link.setCanceller(isOnMainActor: true) { right in
            MainActor.assumeIsolated { canceller(Resolver(right)) }
        }
    }
}
