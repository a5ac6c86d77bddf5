internal import Synchronization

/// A semaphore that limits how much is in use at once (Twisted's `DeferredSemaphore`): so many permits of one unit, or
/// fewer of several units.
///
/// ```swift
/// let connections = DeferredSemaphore(4)
/// let pages = addresses.map { address in
///     connections.run { fetchPage(address) }
/// }
/// connections.limit = 2                       // from now on two at once, as permits are released
/// ```
///
/// Permits are granted in the order in which they were asked for. One of several units that waits first is not
/// overtaken by smaller ones, though there may be room for those. A cancel of a waiting
/// ``acquire(units:fileID:line:)`` or `run` removes it from the queue. A permit that is released is granted within that
/// call, unless another thread is granting permits and takes it. Released inside a callback of another holder, on a
/// thread that is granting permits further up its stack, it is granted after that callback. So a long queue of work
/// that never waits takes no stack.
///
/// A cancel of several at once admits none of them: who waits leaves before a permit is released. Releasing the
/// last reference to a semaphore changes nothing for those that wait or have a permit.
///
/// What could never be granted fails with ``DeferredError/invalidArgument(_:)``: more units than the ``limit``, and so
/// everything where that is below 1.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public final class DeferredSemaphore: Sendable {
    /// The right to proceed, until ``release()``, at the latest until the last reference to the permit is released:
    /// keep a reference to it.
    public final class Permit: ReleasablePermit {
        private let semaphore: DeferredSemaphore
        /// How many units of the semaphore's limit it takes.
        public let units: Int
        private let isReleased = Atomic<Bool>(false)

        fileprivate init(_ semaphore: DeferredSemaphore, _ units: Int) {
            self.semaphore = semaphore
            self.units = units
        }

        /// Releases the permit. The next in the queue gets it within this call; inside a callback of another holder,
        /// after that callback. Calling it again does nothing. Safe from any thread.
        public func release() {
            if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { semaphore.takeBack(units) }
        }

        func release(in loop: inout DrainLoop) {
            if !isReleased.exchange(true, ordering: .acquiringAndReleasing) {
                semaphore.takeBack(units, in: &loop)
            }
        }

        var isAwaited: Bool { semaphore.waitingCount > 0 }

        deinit { release() }
    }

    private let state: SpinLocked<State>

    /// Creates a semaphore with `limit` permits of one unit.
    public init(_ limit: Int) {
        state = SpinLocked(State(limit: limit))
    }

    /// How many permits of one unit there are. May be changed at any time.
    ///
    /// A greater limit grants permits to those that wait, within the call that sets it. A smaller one takes effect as
    /// permits are released: nobody loses one. A caller that waits for more units than the new limit fails at once with
    /// ``DeferredError/invalidArgument(_:)``, and the next one follows; with a limit below 1, every caller does, until
    /// there is a valid one.
    ///
    /// ```swift
    /// let limited = DeferredSemaphore(8)
    /// server.onOverload = { limited.limit = max(1, limited.limit / 2) }
    /// ```
    ///
    /// - Complexity: To set it takes O(*n*) where callers wait for more units than the new limit, of *n* that wait.
    public var limit: Int {
        get { state.withLock { $0.limit } }
        set {
            for (waiter, fault) in state.withLock({ $0.setLimit(newValue) }) { waiter.resolver.reject(fault) }
            grant()
        }
    }

    /// How many units are free now.
    public var availableCount: Int { state.withLock { $0.free } }

    /// How many callers wait for a permit.
    public var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Waits for a permit of so many units.
    ///
    /// ```swift
    /// connections.acquire().then { permit in
    ///     fetchPage().always { _ in permit.release() }
    /// }
    /// ```
    ///
    /// `run` releases the permit on every path, and where a list with `cancelsRemaining` waits for the outcome, after
    /// that has cancelled the rest; with this form both are up to the caller. A permit that arrives together with a
    /// cancel, and that no callback receives, is released automatically.
    ///
    /// - Parameter units: How many units of the limit the permit takes. Less than 1, or more than the ``limit``, fails
    ///   with ``DeferredError/invalidArgument(_:)`` at once.
    public func acquire(
        units: Int = 1, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Permit> {
        let ticket: CancellableFIFO<Waiter>.Ticket
        switch state.withLock({ $0.request(units) }) {
        case .granted: return .resolved(Permit(self, units), fileID: fileID, line: line)
        case .refused(let fault): return .rejected(fault, fileID: fileID, line: line)
        case .waits(let place): ticket = place
        }
        let (deferred, resolver) = Deferred<Permit>.withResolver(
            canceller: { [self] _ in leave(ticket) }, fileID: fileID, line: line)
        deferred.setIsWaiting { true }
        if case .refused(let fault) = state.withLock({ $0.enqueue((units, resolver), at: ticket) }) {
            resolver.reject(fault)
        }
        // A permit may have been released since.
        grant()
        return deferred
    }

    /// Removes a caller that is cancelled.
    private func leave(_ ticket: CancellableFIFO<Waiter>.Ticket) {
        if case .leftBeforeOthers = state.withLock({ $0.leave(ticket) }) { grant() }
    }

    /// Returns a permit if its units are free now and no caller waits for one. With less than 1 unit, returns nil.
    ///
    /// ```swift
    /// guard let permit = connections.tryAcquire() else { return .rejected(Busy()) }
    /// return fetchPage().always { _ in permit.release() }
    /// ```
    public func tryAcquire(units: Int = 1) -> Permit? {
        switch state.withLock({ $0.take(units) }) {
        case .taken: Permit(self, units)
        case .unavailable: nil
        }
    }

    /// Fails all callers that wait for a permit with `error`, in the order in which they came, on this thread. Those
    /// that have a permit, and callers that come later, are not affected.
    ///
    /// What `run` returned for them fails with that error, and its body never runs. A list that waits for a permit
    /// starts no further input. Does nothing if nobody waits.
    ///
    /// ```swift
    /// connections.rejectWaiting(with: LoggedOut())
    /// ```
    ///
    /// - Complexity: O(*n*), where *n* is the number of callers that wait.
    public func rejectWaiting(with error: any Error) {
        // All leave before the first is notified (C7).
        for waiter in state.withLock({ $0.removeAll() }) { waiter.resolver.reject(error) }
    }

    private func takeBack(_ units: Int) {
        state.withLock { $0.takeBack(units) }
        grant()
    }

    /// As `takeBack(_:)`; `loop` notifies the next in the queue, later (F6).
    private func takeBack(_ units: Int, in loop: inout DrainLoop) {
        state.withLock { $0.takeBack(units) }
        // What follows is not part of what the holder's finalizers wait for.
        let scope = loop.scope.take()
        grant { resolver, permit in
            if let source = resolver.right.source { loop.settle(source: source, .value(permit)) }
        }
        loop.scope = scope
    }

    /// Grants free permits to waiting callers.
    private func grant(_ resolve: (Deferred<Permit>.Resolver, Permit) -> Void = { _ = $0.resolve($1) }) {
        let thread = Platform.currentThread
        guard state.withLock({ $0.beginGranting(on: thread) }) == .begins else { return }
        while case .grants(let waiter) = state.withLock({ $0.next(on: thread) }) {
            if waiter.resolver.isCancelled {
                // It is about to leave: the units are for another (C7, Q2).
                state.withLock { $0.takeBack(waiter.units) }
            } else {
                // Cancelled meanwhile, it does not take the permit, whose `deinit` releases it.
                resolve(waiter.resolver, Permit(self, waiter.units))
            }
        }
    }
}

extension DeferredSemaphore {
    /// Waits for a permit, runs `body`, and releases the permit when the Deferred that `body` returns is settled.
    ///
    /// `body` runs on the thread that releases the permit, or at once if one is free. What it throws fails the
    /// returned Deferred. If that is cancelled while it waits, `body` never runs; cancelled later, it cancels the
    /// Deferred that `body` returned. The permit is released before callbacks further down the chain run; but where
    /// a list with `cancelsRemaining` waits for the outcome, after the list has cancelled what it does not need.
    ///
    /// May be left unused: the work is done all the same, and a failure that nothing handles is reported.
    ///
    /// - Parameters:
    ///   - units: How many units of the limit the permit takes; see ``acquire(units:fileID:line:)``.
    ///   - body: Starts the work.
    @discardableResult
    public func run<R: DeferredConvertible>(
        units: Int = 1, _ body: @escaping @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        acquire(units: units, fileID: fileID, line: line).running({ _ in try body() }, fileID, line)
    }

    /// Waits for a permit, runs `body` on the main actor, and releases the permit when the Deferred that `body` returns
    /// is settled. `body` does not run before this returns. Otherwise behaves as the form without `on:`.
    @discardableResult
    public func run<R: DeferredConvertible>(
        units: Int = 1, on _: MainActor.Type, _ body: @escaping @MainActor @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        run(
            units: units, { Deferred<Void>.following(on: MainActor.self, fileID, line, body) },
            fileID: fileID, line: line)
    }

    /// Waits for a permit, runs `body` on the main actor, and releases the permit when it has returned. `body` does not
    /// run before this returns. Otherwise behaves as the form without `on:`.
    @discardableResult
    public func syncRun<T: Sendable>(
        units: Int = 1, on _: MainActor.Type, _ body: @escaping @MainActor @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run(
            units: units, { Deferred<Void>.catching(on: MainActor.self, fileID, line, body) },
            fileID: fileID, line: line)
    }

    /// Waits for a permit, runs `body`, and releases the permit when it has returned. Otherwise behaves as the
    /// form for a Deferred. May be left unused: a failure that nothing handles is reported.
    @discardableResult
    public func syncRun<T: Sendable>(
        units: Int = 1, _ body: @escaping @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run(units: units, { Deferred(catching: body) }, fileID: fileID, line: line)
    }

    /// Waits for a permit, runs an asynchronous `body` in a Task, and releases the permit when that has ended. A
    /// cancel while `body` runs cancels the Task and fails the returned Deferred at once; the permit is released when
    /// `body` has returned. It sees the task-local values of this call, whoever releases the permit; see <doc:TaskLocals>.
    /// Otherwise behaves as `run`.
    @discardableResult
    public func asyncRun<T: Sendable>(
        units: Int = 1, _ body: @escaping @Sendable () async throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        acquire(units: units, fileID: fileID, line: line).asyncRunning(body, fileID, line)
    }
}
