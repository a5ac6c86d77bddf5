public import Deferred

/// Pairs of closures, one for success and one for failure, that wait for the outcome of one job.
///
/// ```swift
/// func avatar(for owner: View, then show: @escaping @Sendable (View, Image) -> Void) {
///     if askers.add(owner, on: .main, success: show, failure: { view, _ in view.showPlaceholder() }) {
///         startDownload()    // the first to ask; the others wait for the same one
///     }
/// }
/// func downloaded(_ result: Result<Image, any Error>) {
///     askers.complete(with: result)
/// }
/// ```
///
/// Each pair of closures belongs to an object, its owner, by a weak reference: once that is deallocated, the
/// pair is skipped and removed. Reading them takes them (``take()``; what comes later waits for the next job) or
/// keeps them (``elements``, for progress or for jobs that end more than once). Pairs are called in the order
/// added.
///
/// - A pair that was removed is not called, even if it was taken or queued before.
/// - An owner is retained while its closure runs.
/// - Everything may be called from any thread, also from inside the closures. Nothing runs under a lock.
///
/// Which task-local values closures see is in the article `TaskLocals` of the module `Deferred`.
public final class MulticastClosures<Success: Sendable, Failure: Sendable>: Sendable {
    let registry = ListenerRegistry()

    /// Creates an object without pairs.
    public init() {}

    /// Adds a pair of closures, for as long as `owner` exists.
    ///
    /// - Parameters:
    ///   - owner: A weak reference. The closures should not retain it, or it would never be released; use the
    ///     other form of this method, which passes it to them.
    ///   - dispatcher: Where they run; nil for at once, on the thread that delivers.
    ///   - success: Called with a value.
    ///   - failure: Called with what went wrong.
    /// - Returns: True if this is the first pair since the last ``take()``, ``complete(with:)`` or
    ///   ``removeAll()``: the caller then starts the job. Exactly one of several threads receives true.
    @discardableResult
    public func add(
        _ owner: AnyObject, on dispatcher: (any Dispatcher)? = nil,
        success: @escaping @Sendable (Success) -> Void,
        failure: @escaping @Sendable (Failure) -> Void
    ) -> Bool {
        add(
            ClosuresListener(owner, { _, value in success(value) }, { _, error in failure(error) }),
            dispatcher)
    }

    /// Adds a pair of closures that take their owner as well, for as long as `owner` exists.
    ///
    /// - Parameters:
    ///   - owner: A weak reference, passed to the closures.
    ///   - dispatcher: Where the closures run; nil for at once, on the thread that delivers.
    ///   - success: Called with the owner and a value.
    ///   - failure: Called with the owner and what went wrong.
    /// - Returns: True if this is the first pair since the last ``take()``, ``complete(with:)`` or
    ///   ``removeAll()``.
    @discardableResult
    public func add<Owner: AnyObject & Sendable>(
        _ owner: Owner, on dispatcher: (any Dispatcher)? = nil,
        success: @escaping @Sendable (Owner, Success) -> Void,
        failure: @escaping @Sendable (Owner, Failure) -> Void
    ) -> Bool {
        // The owner that is passed is the one that was added, so the casts succeed.
        add(
            ClosuresListener(owner, { success($0 as! Owner, $1) }, { failure($0 as! Owner, $1) }), dispatcher)
    }

    /// Adds a pair of closures that run on the main actor, for as long as `owner` exists. Otherwise behaves as the form
    /// with a dispatcher.
    @discardableResult
    public func add(
        _ owner: AnyObject, on _: MainActor.Type,
        success: @escaping @MainActor @Sendable (Success) -> Void,
        failure: @escaping @MainActor @Sendable (Failure) -> Void
    ) -> Bool {
        add(
            owner, on: MainActorDispatcher(),
            success: { value in MainActor.assumeIsolated { success(value) } },
            failure: { error in MainActor.assumeIsolated { failure(error) } })
    }

    /// Adds a pair of closures that take their owner as well and run on the main actor, for as long as `owner` exists.
    /// Otherwise behaves as the form with a dispatcher.
    @discardableResult
    public func add<Owner: AnyObject & Sendable>(
        _ owner: Owner, on _: MainActor.Type,
        success: @escaping @MainActor @Sendable (Owner, Success) -> Void,
        failure: @escaping @MainActor @Sendable (Owner, Failure) -> Void
    ) -> Bool {
        add(
            owner, on: MainActorDispatcher(),
            success: { owner, value in MainActor.assumeIsolated { success(owner, value) } },
            failure: { owner, error in MainActor.assumeIsolated { failure(owner, error) } })
    }

    private func add(_ listener: ClosuresListener<Success, Failure>, _ place: (any Dispatcher)?) -> Bool {
        registry.add(Registration(listener, on: place))?.isFirst ?? false
    }

    /// Removes an owner's pairs, including those that were taken.
    ///
    /// May be called in the owner's `deinit`.
    ///
    /// - Parameters:
    ///   - owner: The object that the pairs belong to.
    ///   - dispatcher: Removes only the pairs on this dispatcher; `nil`: all of them. Dispatchers that are objects are
    ///     compared by identity, others by `==`. One that is neither stops the program with a message.
    /// - Complexity: O(*k*), where *k* is the number of pairs that `owner` has.
    public func remove(
        _ owner: AnyObject, on dispatcher: (any Dispatcher)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        registry.remove(ObjectIdentifier(owner), on: dispatcher, CallSite(fileID: fileID, line: line))
    }

    /// Removes every pair, taken ones included.
    ///
    /// - Complexity: O(*n*), where *n* is the number of pairs.
    public func removeAll() { registry.removeAll() }

    /// The number of waiting pairs whose owner exists.
    ///
    /// - Complexity: O(*n*), where *n* is the number of pairs.
    public var count: Int { elements.count }

    /// The waiting pairs, in the order added, which reading this does not take.
    ///
    /// - Complexity: O(*n*), where *n* is the number of pairs.
    public var elements: [Pair] { registry.snapshot().compactMap { pair(of: $0) } }

    /// Returns the waiting pairs, in the order added, and takes them: one caller only receives each.
    ///
    /// - Complexity: O(*n*), where *n* is the number of pairs.
    public func take() -> [Pair] {
        registry.take().compactMap { pair(of: $0, atEnd: ListenerToken($0.listener, in: registry)) }
    }

    private func pair(of registration: Registration, atEnd token: ListenerToken? = nil) -> Pair? {
        if registration.listener.recipient(in: registry) == nil { return nil }
        let atEnd = token.map { OneTimeWork(runsOnRelease: true, $0.remove) }
        return Pair(registration: registration, registry: registry, atEnd: atEnd)
    }
}

extension MulticastClosures where Failure: Error {
    /// Takes the pairs and calls each with the outcome, on its dispatcher or at once.
    ///
    /// - Complexity: O(*n*), where *n* is the number of pairs.
    public func complete(with result: Result<Success, Failure>) {
        for pair in take() {
            switch result {
            case .success(let value): pair.succeed(value)
            case .failure(let error): pair.fail(error)
            }
        }
    }
}

extension MulticastClosures {
    /// A success and a failure closure that were read from a ``MulticastClosures``.
    public struct Pair: Sendable {
        let registration: Registration
        let registry: ListenerRegistry
        /// Removes the listener of a pair that was taken when nothing can call it any more: the pair was released, and
        /// so was the work that it submitted. It refers weakly to the listener and to the registry, which retains the
        /// listener until then.
        let atEnd: OneTimeWork?

        /// The object that the closures belong to; nil if it was deallocated or the closures were removed.
        public var owner: AnyObject? { registration.listener.recipient(in: registry) }

        /// Calls the success closure, on its dispatcher or at once, unless the owner was deallocated or the
        /// closures were removed by then.
        public func succeed(_ value: Success) { deliver { $1.success($0, value) } }

        /// Calls the failure closure, on its dispatcher or at once, unless the owner was deallocated or the
        /// closures were removed by then.
        public func fail(_ failure: Failure) { deliver { $1.failure($0, failure) } }

        private func deliver(
            _ body: @escaping @Sendable (AnyObject, ClosuresListener<Success, Failure>) -> Void
        ) {
            registration.deliver(from: registry) { [atEnd] owner, listener in
                // Sound: a MulticastClosures puts nothing else into its registry.
                let closures = unsafeDowncast(listener, to: ClosuresListener<Success, Failure>.self)
                withExtendedLifetime(atEnd) { body(owner, closures) }
            }
        }
    }
}

/// Sound as `@unchecked Sendable` as ``Listener`` is.
private final class ClosuresListener<Success: Sendable, Failure: Sendable>: Listener, @unchecked Sendable {
    let success: @Sendable (AnyObject, Success) -> Void
    let failure: @Sendable (AnyObject, Failure) -> Void

    init(
        _ owner: AnyObject, _ success: @escaping @Sendable (AnyObject, Success) -> Void,
        _ failure: @escaping @Sendable (AnyObject, Failure) -> Void
    ) {
        self.success = DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(success) : success
        self.failure = DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(failure) : failure
        super.init(owner)
    }
}
