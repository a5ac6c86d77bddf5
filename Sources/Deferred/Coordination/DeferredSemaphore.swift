internal import Synchronization

/// At most so many at once (Twisted's `DeferredSemaphore`).
///
/// ```swift
/// let connections = DeferredSemaphore(4)
/// let pages = addresses.map { address in
///     connections.run { fetchPage(address) }
/// }
/// ```
///
/// Who comes first is served first. Whoever waits may cancel, and leaves the line. A permit is given on the
/// thread that gives one back, within that call; a long line of work that never waits takes no stack.
///
/// A limit below 1 lets nobody in: every ``acquire(fileID:line:)`` fails with
/// ``DeferredError/invalidArgument(_:)``.
public final class DeferredSemaphore: Sendable {
    /// The right to be in. It ends with ``release()``, at the latest when the last reference to it goes: hold
    /// on to it.
    public final class Permit: Sendable {
        private let semaphore: DeferredSemaphore
        private let isReleased = Atomic<Bool>(false)

        fileprivate init(_ semaphore: DeferredSemaphore) { self.semaphore = semaphore }

        /// Gives the permit back, and lets in who waits, within this call. Doing so again does nothing. Safe
        /// from any thread.
        public func release() {
            if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { semaphore.takeBack() }
        }

        deinit { release() }
    }

    private typealias Line = WaitingLine<Resolver<Permit>>

    private struct State {
        var free: Int
        var line = Line()
        /// The threads that are letting others in: on these a permit given back is for the loop further out
        /// (no recursion).
        var lettingIn: [UInt] = []

        mutating func next() -> Resolver<Permit>? {
            guard free > 0, let waiter = line.popFirst() else { return nil }
            free -= 1
            return waiter
        }
    }

    /// How many may be in at once.
    public let limit: Int
    private let state: Guarded<State>

    /// A semaphore that lets in `limit` at once.
    public init(_ limit: Int) {
        self.limit = limit
        state = Guarded(State(free: limit))
    }

    /// How many permits are to be had now.
    public var available: Int { max(0, state.withLock { $0.free }) }

    /// How many wait.
    public var waitingCount: Int { state.withLock { $0.line.count } }

    /// A permit, when there is one and it is this one's turn.
    ///
    /// ``run(_:fileID:line:)`` gives it back on every path; with this form that is up to you. A permit that
    /// nobody takes, because of a cancel just then, is given back by itself.
    public func acquire(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Permit> {
        guard limit >= 1 else {
            let reason = "a semaphore's limit must be 1 or more, is \(limit)"
            return .rejected(DeferredError.invalidArgument(reason), fileID: fileID, line: line)
        }
        if let permit = tryAcquire() { return .resolved(permit, fileID: fileID, line: line) }
        let ticket = Guarded<Line.Ticket?>(nil)
        let (deferred, resolver) = Deferred<Permit>.withResolver(
            canceller: { [self] _ in leave(ticket.withLock { $0 }) }, fileID: fileID, line: line)
        let place = state.withLock { $0.line.append(resolver) }
        ticket.withLock { $0 = place }
        // One may have been given back since.
        letIn()
        return deferred
    }

    /// A permit, if there is one now and nobody waits for it.
    public func tryAcquire() -> Permit? {
        let isFree = state.withLock { state in
            guard state.free > 0, state.line.isEmpty else { return false }
            state.free -= 1
            return true
        }
        return isFree ? Permit(self) : nil
    }

    private func leave(_ ticket: Line.Ticket?) {
        guard let ticket else { return }
        let waiter = state.withLock { $0.line.remove(ticket) }
        _ = consume waiter
    }

    private func takeBack() {
        state.withLock { $0.free += 1 }
        letIn()
    }

    /// Lets in who waits, as long as there are permits.
    private func letIn() {
        let thread = Platform.currentThread
        var next = state.withLock { state -> Resolver<Permit>? in
            guard state.free > 0, !state.line.isEmpty, !state.lettingIn.contains(thread) else { return nil }
            state.lettingIn.append(thread)
            return state.next()
        }
        while let waiter = next {
            // Cancelled in the meantime, it does not take the permit, which comes back.
            waiter.resolve(Permit(self))
            next = state.withLock { state -> Resolver<Permit>? in
                if let waiter = state.next() { return waiter }
                state.lettingIn.removeAll { $0 == thread }
                return nil
            }
        }
    }
}
