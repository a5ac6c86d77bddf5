internal import Synchronization

/// A semaphore that limits the number of permits in use at once (Twisted's `DeferredSemaphore`).
///
/// ```swift
/// let connections = DeferredSemaphore(4)
/// let pages = addresses.map { address in
///     connections.run { fetchPage(address) }
/// }
/// ```
///
/// Permits are granted in the order in which they were asked for. A cancel of a waiting ``acquire(fileID:line:)`` or
/// `run` removes it from the queue. A permit that is released is granted within that call, unless another thread is
/// granting permits and takes it. Released inside a callback of another holder, on a thread that is granting permits
/// further up its stack, it is granted after that callback. So a long queue of work that never waits takes no stack.
///
/// A cancel of several at once admits none of them: who waits leaves before a permit is released. Releasing the
/// last reference to a semaphore changes nothing for those that wait or have a permit.
///
/// With a limit below 1, every ``acquire(fileID:line:)`` fails with ``DeferredError/invalidArgument(_:)``.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public final class DeferredSemaphore: Sendable {
    /// The right to proceed, until ``release()``, at the latest until the last reference to the permit is released:
    /// keep a reference to it.
    public final class Permit: ReleasablePermit {
        private let semaphore: DeferredSemaphore
        private let isReleased = Atomic<Bool>(false)

        fileprivate init(_ semaphore: DeferredSemaphore) { self.semaphore = semaphore }

        /// Releases the permit. The next in the queue gets it within this call; inside a callback of another holder,
        /// after that callback. Calling it again does nothing. Safe from any thread.
        public func release() {
            if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { semaphore.takeBack() }
        }

        func release(in loop: inout DrainLoop) {
            if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { semaphore.takeBack(in: &loop) }
        }

        var isAwaited: Bool { semaphore.waitingCount > 0 }

        deinit { release() }
    }

    private struct State {
        var free: Int
        /// Those that wait, in the order in which they came (Q1).
        var waiters = CancellableFIFO<Deferred<Permit>.Resolver>()
        /// The threads that are in `grant`. On these, a permit that is released is granted by the loop further up
        /// the stack (no recursion).
        var grantingThreads: [UInt] = []

        /// Takes a permit that is free and that no caller waits for.
        mutating func take() -> Bool {
            guard free > 0, waiters.isEmpty else { return false }
            free -= 1
            return true
        }

        /// Takes a permit for the caller that has waited longest, to be granted by `thread`; ends its loop if there is
        /// none.
        mutating func next(on thread: UInt) -> Deferred<Permit>.Resolver? {
            guard free > 0, let waiter = waiters.popFirst() else {
                grantingThreads.removeAll { $0 == thread }
                return nil
            }
            free -= 1
            return waiter.element
        }
    }

    /// How many permits there are.
    public let limit: Int
    private let state: SpinLocked<State>

    /// Creates a semaphore with `limit` permits.
    public init(_ limit: Int) {
        self.limit = limit
        state = SpinLocked(State(free: limit))
    }

    /// How many permits are free now.
    public var availableCount: Int { max(0, state.withLock { $0.free }) }

    /// How many callers wait for a permit.
    public var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Waits for a permit.
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
    public func acquire(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Permit> {
        guard limit >= 1 else {
            let reason = "a semaphore's limit must be 1 or more, is \(limit)"
            return .rejected(DeferredError.invalidArgument(reason), fileID: fileID, line: line)
        }
        guard let ticket = state.withLock({ $0.take() ? nil : $0.waiters.reserve() }) else {
            return .resolved(Permit(self), fileID: fileID, line: line)
        }
        let (deferred, resolver) = Deferred<Permit>.withResolver(
            canceller: { [self] _ in _ = state.withLock { $0.waiters.remove(ticket) } },
            fileID: fileID, line: line)
        deferred.setIsWaiting { true }
        state.withLock { $0.waiters.insert(resolver, at: ticket) }
        // A permit may have been released since.
        grant()
        return deferred
    }

    /// Returns a permit if one is free now and no caller waits for it.
    ///
    /// ```swift
    /// guard let permit = connections.tryAcquire() else { return .rejected(Busy()) }
    /// return fetchPage().always { _ in permit.release() }
    /// ```
    public func tryAcquire() -> Permit? {
        state.withLock { $0.take() } ? Permit(self) : nil
    }

    private func takeBack() {
        state.withLock { $0.free += 1 }
        grant()
    }

    /// As `takeBack()`; `loop` notifies the next in the queue, later (F6).
    private func takeBack(in loop: inout DrainLoop) {
        state.withLock { $0.free += 1 }
        // What follows is not part of what the holder's finalizers wait for.
        let scope = loop.scope.take()
        grant { waiter, permit in
            if let source = waiter.right.source { loop.settle(source: source, .value(permit)) }
        }
        loop.scope = scope
    }

    /// Grants free permits to waiting callers.
    private func grant(_ resolve: (Deferred<Permit>.Resolver, Permit) -> Void = { _ = $0.resolve($1) }) {
        let thread = Platform.currentThread
        let isInside = state.withLock { state in
            if state.grantingThreads.contains(thread) { return true }
            state.grantingThreads.append(thread)
            return false
        }
        if isInside { return }
        while let waiter = state.withLock({ $0.next(on: thread) }) {
            if waiter.isCancelled {
                // It is about to leave: the permit is for another (C7, Q2).
                state.withLock { $0.free += 1 }
            } else {
                // Cancelled meanwhile, it does not take the permit, whose `deinit` releases it.
                resolve(waiter, Permit(self))
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
    @discardableResult
    public func run<R: DeferredConvertible>(
        _ body: @escaping @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        acquire(fileID: fileID, line: line).running({ _ in try body() }, fileID, line)
    }

    /// Waits for a permit, runs `body` on the main actor, and releases the permit when the Deferred that `body` returns
    /// is settled. `body` does not run before this returns. Otherwise behaves as the form without `on:`.
    @discardableResult
    public func run<R: DeferredConvertible>(
        on _: MainActor.Type, _ body: @escaping @MainActor @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        run({ Deferred<Void>.following(on: MainActor.self, fileID, line, body) }, fileID: fileID, line: line)
    }

    /// Waits for a permit, runs `body` on the main actor, and releases the permit when it has returned. `body` does not
    /// run before this returns. Otherwise behaves as the form without `on:`.
    @discardableResult
    public func syncRun<T: Sendable>(
        on _: MainActor.Type, _ body: @escaping @MainActor @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run({ Deferred<Void>.catching(on: MainActor.self, fileID, line, body) }, fileID: fileID, line: line)
    }

    /// Waits for a permit, runs `body`, and releases the permit when it has returned. Otherwise behaves as the
    /// form for a Deferred. May be left unused: a failure that nothing handles is reported.
    @discardableResult
    public func syncRun<T: Sendable>(
        _ body: @escaping @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run({ Deferred(catching: body) }, fileID: fileID, line: line)
    }

    /// Waits for a permit, runs an asynchronous `body` in a Task, and releases the permit when that has ended. A
    /// cancel while `body` runs cancels the Task and fails the returned Deferred at once; the permit is released when
    /// `body` has returned. It sees the task-local values of this call, whoever releases the permit; see <doc:TaskLocals>.
    /// Otherwise behaves as `run`.
    @discardableResult
    public func asyncRun<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        acquire(fileID: fileID, line: line).asyncRunning(body, fileID, line)
    }
}

/// A permit of a lock or semaphore that `run` releases on every path.
protocol ReleasablePermit: Sendable {
    /// Whether others wait for it.
    var isAwaited: Bool { get }
    func release()
    /// As `release()`; `loop` notifies the next in the queue, later (F6).
    func release(in loop: inout DrainLoop)
}

/// The one implementation of `run` for ``DeferredLock``, ``DeferredSemaphore`` and ``DeferredFilesystemLock``.
extension Deferred where Value: ReleasablePermit {
    /// Returns the outcome of `body`, which runs once the permit is there; the permit is released when the Deferred
    /// that `body` returns is settled, before callbacks further down the chain run, except those of a list that
    /// then cancels what remains (C7).
    func running<R: DeferredConvertible>(
        _ body: @escaping @Sendable (Value) throws -> R, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<R.Value> {
        let held = SpinLocked<Value?>(nil)
        let work = then(
            { permit in
                held.withLock { $0 = permit }
                return try body(permit)
            }, fileID: fileID, line: line)
        // On the loop that notifies this caller, also where the body's Deferred was settled already (no recursion).
        let end: @Sendable (inout DrainLoop) -> Void = { held.withLock { $0.take() }?.release(in: &$0) }
        let release = Link.Payload.hook { loop, link in
            // If a list may now cancel those that wait for it, the list comes first: none of them starts only to be
            // cancelled (C7).
            let isAwaited = held.withLock { $0 }?.isAwaited == true
            if isAwaited, link.leadsToCancellingList { loop.jobs.last.append(end) } else { end(&loop) }
        }
        let site = DeferredDiagnostic.Location(.always, fileID, line)
        // One link more, so that the next holder's callback runs before the callbacks attached to this one, as in
        // Twisted.
        return Deferred<R.Value>(work.link.attach(release, site).attach(.adopt, site))
    }

    /// As `running`, with a body in a Task: a cancel ends the Deferred before the Task, which has the permit until it
    /// has ended.
    func asyncRunning<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<T> {
        CallersTask.calling { task in
            map({ PermitOfTwo(base: $0) }, fileID: fileID, line: line).running(
                { permit in
                    let operation = { @Sendable () async throws -> T in
                        defer { permit.release() }
                        return try await body()
                    }
                    return task.run(operation, fileID, line)
                }, fileID, line)
        }
    }
}

/// A permit that two have, and that is released when both have released it.
private final class PermitOfTwo<Base: ReleasablePermit>: ReleasablePermit {
    private let base: Base
    private let holders = Atomic(2)

    init(base: Base) { self.base = base }

    var isAwaited: Bool { base.isAwaited }

    func release() { DrainLoop.with { release(in: &$0) } }

    func release(in loop: inout DrainLoop) {
        if holders.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { base.release(in: &loop) }
    }
}
