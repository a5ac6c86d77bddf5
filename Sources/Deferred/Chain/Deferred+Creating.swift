extension Deferred {
    /// Creates a pending Deferred, to be completed explicitly with ``resolve(_:onUndelivered:fileID:line:)`` or
    /// ``reject(_:fileID:line:)``.
    ///
    /// Copies of this handle can complete it too. When the last of them is released while the Deferred is pending, it
    /// fails with ``DeferredError/abandoned``. The optimiser may release a handle after its last use: keep it where
    /// the result will come from.
    @inlinable
    public init(fileID: StaticString = #fileID, line: UInt = #line) {
        let site = DeferredDiagnostic.Location(.source, fileID, line)
        self.init(Link.newSource(site))
    }

    /// Creates a pending Deferred with a closure that stops the work which would complete it.
    ///
    /// It is completed by its handles, as one of ``init(fileID:line:)``, and abandoned with the last of them. If a
    /// function is to return one that it does not retain, use ``withResolver(canceller:fileID:line:)``.
    ///
    /// - Parameter canceller: Runs once, on the thread that cancels, if the Deferred is cancelled while pending. If it
    ///   completes the resolver that it receives, that is the outcome, and an error is never reported as unhandled;
    ///   otherwise the Deferred fails with `CancellationError`. It is released when the Deferred is settled.
    @_disfavoredOverload
    public init(
        canceller: @escaping @Sendable (Resolver) -> Void, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.init(fileID: fileID, line: line)
        link.setCanceller { canceller(Resolver($0)) }
    }

    /// Creates a Deferred that `body` completes, at once or later, through the resolver that it receives.
    ///
    /// ```swift
    /// let answer = Deferred<Data> { resolver in
    ///     legacy.load { data, error in
    ///         if let data { resolver.resolve(data) } else { resolver.reject(error!) }
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter body: Runs at once, on this thread. An error that it throws rejects the Deferred, unless it has
    ///   completed the resolver before. When the last copy of the resolver is released unused, the Deferred fails with
    ///   ``DeferredError/abandoned``.
    public init(
        _ body: (Resolver) throws -> Void, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let (deferred, resolver) = Deferred.withResolver(fileID: fileID, line: line)
        self = deferred
        do {
            try body(resolver)
        } catch {
            resolver.reject(error, fileID: fileID, line: line)
        }
    }

    /// Creates a settled Deferred with what `body`, which runs at once on this thread, returns or throws.
    @inlinable
    public init(
        catching body: () throws -> Value, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let site = DeferredDiagnostic.Location(.settled, fileID, line)
        self.init(Link.settled(.catching(body), site))
    }

    /// Creates a settled Deferred with `result`.
    @inlinable
    public init(
        _ result: Result<Value, any Error>, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(Link.settled(.init(result), DeferredDiagnostic.Location(.settled, fileID, line)))
    }

    /// Creates a settled Deferred with `result`, which has a typed error.
    @inlinable
    public init(
        _ result: Result<Value, some Error>, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(Link.settled(.init(result), DeferredDiagnostic.Location(.settled, fileID, line)))
    }

    /// Returns the Deferred that `body`, which runs at once on this thread, returns; or a failed one with what
    /// it throws (Twisted's `maybeDeferred`).
    ///
    /// ```swift
    /// let page = Deferred(following: { try request(for: address).send() })
    /// ```
    @inlinable
    public init<R: DeferredConvertible>(
        following body: () throws -> R, fileID: StaticString = #fileID, line: UInt = #line
    ) where R.Value == Value {
        do {
            self = try body().deferred
        } catch {
            self = .rejected(error, fileID: fileID, line: line)
        }
    }

    /// Returns a pending Deferred and the resolver that completes it. The Deferred itself cannot be completed
    /// explicitly. If the resolver is not kept (`_`), it is abandoned at once.
    ///
    /// - Parameter canceller: As in ``init(canceller:fileID:line:)``. If it calls an API whose `cancel()` calls the
    ///   completion handler at once, what that reports is the outcome, unless the canceller rejects with
    ///   `CancellationError` before that call.
    public static func withResolver(
        canceller: (@Sendable (Resolver) -> Void)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> (deferred: Deferred<Value>, resolver: Resolver) {
        withResolver(DeferredDiagnostic.Location(.resolver, fileID, line), canceller: canceller)
    }

    static func withResolver(
        _ site: DeferredDiagnostic.Location, canceller: (@Sendable (Resolver) -> Void)?
    ) -> (deferred: Deferred<Value>, resolver: Resolver) {
        let link = Link(.source, .none, site)
        if let canceller {
            link.setCanceller { canceller(Resolver($0)) }
        }
        return (Deferred(link), Resolver(CompletionRight(link)))
    }

    /// Returns a Deferred that is pending until it is cancelled, and never abandoned: for tests, and in place of work
    /// or of a time limit that is optional.
    ///
    /// ```swift
    /// let stop = userCanStop ? button.pressed : .never()
    /// let page = fetchPage().orElse { _ in Deferred<Page>.never() }
    /// ```
    ///
    /// In a closure that may return any ``DeferredConvertible``, as that of `then` and `orElse`, the compiler needs the
    /// type's name, as above.
    /// It keeps what is attached to it until then, also when no handle is left. Cancel it when it is of no further
    /// use, as a list with `cancelsRemaining` does.
    public static func never(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred {
        let (deferred, resolver) = withResolver(fileID: fileID, line: line)
        // The source retains its own resolver, until a cancel releases the canceller.
        deferred.link.setCanceller { _ in withExtendedLifetime(resolver) {} }
        return deferred
    }

    /// Returns a Deferred that is resolved with `value`.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - onUndelivered: Receives the value back if nobody receives it: see ``resolve(_:onUndelivered:fileID:line:)``.
    @inlinable
    @inline(__always)
    public static func resolved(
        _ value: Value, onUndelivered: (@Sendable (Value) -> Void)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred {
        Deferred(
            Link.settled(.value(value, onUndelivered), DeferredDiagnostic.Location(.settled, fileID, line)))
    }

    /// Returns a Deferred that is rejected with `error`.
    public static func rejected(
        _ error: any Error, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred {
        Deferred(Link.settled(.failure(error), DeferredDiagnostic.Location(.settled, fileID, line)))
    }
}

extension Deferred where Value == Void {
    /// Returns a resolved Deferred.
    @inlinable
    @inline(__always)
    public static func resolved(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred {
        resolved((), fileID: fileID, line: line)
    }
}
