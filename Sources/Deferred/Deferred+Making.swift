extension Deferred {
    /// A pending Deferred, for you to fire with ``resolve(_:fileID:line:)`` or ``reject(_:fileID:line:)``.
    ///
    /// Copies of this handle can fire it too. When the last of them goes before it has fired, it fails with
    /// ``DeferredError/abandoned``. The optimiser may let go of a handle after its last use: keep it where
    /// the result will come from.
    @inlinable
    public init(fileID: StaticString = #fileID, line: UInt = #line) {
        let site = DeferredDiagnostic.Location(.source, fileID, line)
        self.init(Link(.source, .none, site, firedByHandles: true))
    }

    /// A pending Deferred that knows how to stop what would fire it.
    ///
    /// - Parameter canceller: Runs on the thread that cancels, once, if the Deferred is cancelled while
    ///   pending. If it fires the resolver it is given, that is the outcome; otherwise the Deferred fails
    ///   with `CancellationError`. It is let go when the Deferred fires.
    @inlinable
    @_disfavoredOverload
    public init(
        canceller: @escaping @Sendable (Resolver<Value>) -> Void, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.init(fileID: fileID, line: line)
        link.setCanceller { canceller(Resolver(Producer(forCancellerOf: $0))) }
    }

    /// A Deferred that `body` fires, now or later, through the resolver it is given.
    ///
    /// ```swift
    /// let answer = Deferred<Data> { resolver in
    ///     legacy.load { data, error in
    ///         if let data { resolver.resolve(data) } else { resolver.reject(error!) }
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter body: Runs at once, on this thread. What it throws is the outcome, unless it has fired the
    ///   resolver before. When the last copy of the resolver goes before it was fired, the outcome is
    ///   ``DeferredError/abandoned``.
    @inlinable
    public init(
        _ body: (Resolver<Value>) throws -> Void, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let (deferred, resolver) = Deferred.withResolver(fileID: fileID, line: line)
        self = deferred
        do {
            try body(resolver)
        } catch {
            resolver.reject(error, fileID: fileID, line: line)
        }
    }

    /// A Deferred that has fired with what `body`, which runs at once, returns or throws.
    @inlinable
    @_disfavoredOverload
    public init(
        catching body: () throws -> Value, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let site = DeferredDiagnostic.Location(.settled, fileID, line)
        self.init(Link(.settled, .catching(body), site))
    }

    /// The Deferred that `body`, which runs at once, returns; or one that failed with what it throws
    /// (Twisted's `maybeDeferred`).
    @inlinable
    public init(
        catching body: () throws -> Deferred<Value>, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        do {
            self = try body()
        } catch {
            self = .rejected(error, fileID: fileID, line: line)
        }
    }

    /// A pending Deferred and the resolver that fires it. The Deferred itself can't be fired by hand.
    ///
    /// - Parameter canceller: As in ``init(canceller:fileID:line:)``.
    @inlinable
    public static func withResolver(
        canceller: (@Sendable (Resolver<Value>) -> Void)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> (deferred: Deferred<Value>, resolver: Resolver<Value>) {
        withResolver(DeferredDiagnostic.Location(.resolver, fileID, line), canceller: canceller)
    }

    @inlinable
    static func withResolver(
        _ site: DeferredDiagnostic.Location, canceller: (@Sendable (Resolver<Value>) -> Void)?
    ) -> (deferred: Deferred<Value>, resolver: Resolver<Value>) {
        let link = Link(.source, .none, site)
        if let canceller {
            link.setCanceller { canceller(Resolver(Producer(forCancellerOf: $0))) }
        }
        return (Deferred(link), Resolver(Producer(link)))
    }

    /// A Deferred that has fired with `value`.
    @inlinable
    public static func resolved(_ value: Value, fileID: StaticString = #fileID, line: UInt = #line)
        -> Deferred
    {
        Deferred(Link(.settled, .value(value), DeferredDiagnostic.Location(.settled, fileID, line)))
    }

    /// A Deferred that has failed with `error`.
    @inlinable
    public static func rejected(
        _ error: any Error, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred {
        Deferred(Link(.settled, .failure(error), DeferredDiagnostic.Location(.settled, fileID, line)))
    }
}

extension Deferred where Value == Void {
    /// A Deferred that has fired.
    @inlinable
    public static func resolved(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred {
        resolved((), fileID: fileID, line: line)
    }
}

extension Link {
    /// Gives a new source its canceller.
    @usableFromInline
    func setCanceller(_ canceller: @escaping @Sendable (Link) -> Void) {
        ensureRare().canceller = canceller
    }
}

extension Link.Content {
    /// What `body` gives, as an outcome.
    @inlinable
    @inline(__always)
    static func catching(_ body: () throws -> some Sendable) -> Link.Content {
        do { return .value(try body()) } catch { return .failure(error) }
    }

    /// The Deferred that `body` gives, to be waited for.
    @inlinable
    @inline(__always)
    static func nesting<U>(_ body: () throws -> Deferred<U>) -> Link.Content {
        do { return .wait(for: try body().link) } catch { return .failure(error) }
    }
}
