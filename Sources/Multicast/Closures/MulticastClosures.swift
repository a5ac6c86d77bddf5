public import Deferred

/// Those who wait for the outcome of one job, each with a closure for success and one for failure.
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
/// Each pair of closures belongs to an object, its owner, which is held weakly: when that has gone, the pair
/// is skipped and forgotten. Reading them takes them (``take()``; what comes later waits for the next job) or
/// keeps them (``pairs()``, for progress or for jobs that end more than once). Pairs are called in the order
/// added.
///
/// - An owner's pair that was removed is not called any more, also if it was taken before, or queued.
/// - While a pair's closure runs its owner is kept alive.
/// - Everything may be called from any thread, also from inside the closures. Nothing runs under a lock.
public final class MulticastClosures<Success: Sendable, Failure: Sendable>: Sendable {
    let registry = ListenerRegistry()

    /// Nobody yet.
    public init() {}

    /// Adds a pair of closures for as long as `owner` is there.
    ///
    /// - Parameters:
    ///   - owner: Held weakly. The closures should not hold it strongly, or they would keep it there; take it from the
    ///     other form of this method instead, which gives it to them.
    ///   - dispatcher: Where they run; nil for at once, on the thread that delivers.
    ///   - success: Called with a value.
    ///   - failure: Called with what went wrong.
    /// - Returns: True if this is the first pair since the last ``take()``, ``complete(with:)`` or
    ///   ``removeAll()``: the one whose adder starts the job. Exactly one of several threads is told so.
    @discardableResult
    public func add(
        _ owner: AnyObject,
        on dispatcher: (any Dispatcher)? = nil,
        success: @escaping @Sendable (Success) -> Void,
        failure: @escaping @Sendable (Failure) -> Void
    ) -> Bool {
        add(ClosuresListener(owner, success: { success($1) }, failure: { failure($1) }), dispatcher)
    }

    /// Adds a pair of closures for as long as `owner` is there, which are given it as well.
    ///
    /// - Parameters:
    ///   - owner: Held weakly.
    ///   - dispatcher: Where the closures run; nil for at once, on the thread that delivers.
    ///   - success: Called with the owner and a value.
    ///   - failure: Called with the owner and what went wrong.
    /// - Returns: True if this is the first pair since the last ``take()``, ``complete(with:)`` or
    ///   ``removeAll()``.
    @discardableResult
    public func add<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        on dispatcher: (any Dispatcher)? = nil,
        success: @escaping @Sendable (Owner, Success) -> Void,
        failure: @escaping @Sendable (Owner, Failure) -> Void
    ) -> Bool {
        // What is delivered to is what was added, so the casts hold.
        add(
            ClosuresListener(
                owner, success: { success($0 as! Owner, $1) }, failure: { failure($0 as! Owner, $1) }),
            dispatcher
        )
    }

    private func add(_ listener: ClosuresListener<Success, Failure>, _ dispatcher: (any Dispatcher)?) -> Bool
    {
        registry.add(Registration(listener, on: dispatcher))
    }

    /// Removes an owner's pairs, taken ones included: those on one dispatcher, or (nil) all. Also from inside
    /// the owner's `deinit`.
    ///
    /// Dispatchers that are objects are compared by identity, others by `==`; removing by a dispatcher that
    /// is neither stops the program with a message.
    public func remove(_ owner: AnyObject, on dispatcher: (any Dispatcher)? = nil) {
        registry.remove(ObjectIdentifier(owner), on: dispatcher)
    }

    /// Removes every pair, taken ones included.
    public func removeAll() {
        registry.removeAll()
    }

    /// How many pairs with a living owner wait.
    public var count: Int {
        pairs().count
    }

    /// The pairs that wait, in the order added; they go on waiting.
    public func pairs() -> [Pair] {
        registry.snapshot().compactMap { registration in
            guard let registration, registration.listener.recipient(in: registry) != nil else { return nil }
            return Pair(registration: registration, registry: registry, taken: nil)
        }
    }

    /// The pairs that wait, in the order added; they wait no more. Of several threads, one gets each.
    public func take() -> [Pair] {
        registry.take().compactMap { registration in
            guard let registration, registration.listener.recipient(in: registry) != nil else { return nil }
            let taken = TakenRegistration(registration, of: registry)
            return Pair(registration: registration, registry: registry, taken: taken)
        }
    }
}

extension MulticastClosures where Failure: Error {
    /// Takes the pairs and calls each with the outcome, on its dispatcher or at once.
    public func complete(with result: Result<Success, Failure>) {
        for pair in take() {
            switch result {
            case .success(let value): pair.succeed(value)
            case .failure(let error): pair.fail(error)
            }
        }
    }
}
