/// A queue whose elements one can wait for (Twisted's `DeferredQueue`).
///
/// ```swift
/// let jobs = DeferredQueue<Job>(size: 100)
/// let worker = jobs.run { job in job.perform() }     // one at a time, until cancelled
/// try jobs.put(job)
/// ```
///
/// Elements come out in the order in which they were put, and go to those who wait in the order in which they
/// asked. When the queue goes, those who still wait get ``DeferredError/abandoned``. Safe from any thread.
///
/// A size or backlog below zero is ``DeferredError/invalidArgument(_:)`` at every use.
public final class DeferredQueue<Element: Sendable>: Sendable {
    private struct State {
        var elements = WaitingLine<Element>()
        var line = WaitingLine<Resolver<Element>>()
    }

    /// How many elements may wait to be taken; nil for no limit.
    public let size: Int?
    /// How many may wait for an element; nil for no limit.
    public let backlog: Int?
    private let state = Guarded(State())

    /// An empty queue.
    public init(size: Int? = nil, backlog: Int? = nil) {
        self.size = size
        self.backlog = backlog
    }

    /// How many elements wait to be taken.
    public var count: Int { state.withLock { $0.elements.count } }

    /// How many wait for an element.
    public var waitingCount: Int { state.withLock { $0.line.count } }

    /// Gives `element` to who has waited longest, whose callbacks run before this returns, or keeps it for
    /// who comes.
    ///
    /// Throws ``DeferredError/queueOverflow(size:)``, and keeps nothing, if the queue is full.
    public func put(_ element: Element) throws {
        if let flaw { throw flaw }
        while true {
            let next = try state.withLock { state throws -> Resolver<Element>? in
                if let waiter = state.line.popFirst() { return waiter }
                if let size, state.elements.count >= size { throw DeferredError.queueOverflow(size: size) }
                state.elements.append(element)
                return nil
            }
            // One who was cancelled in the meantime does not take it.
            guard let next, !next.resolve(element) else { return }
        }
    }

    /// The element that has waited longest, or the next to be put; fails with
    /// ``DeferredError/queueUnderflow(backlog:)`` if as many wait already as may.
    ///
    /// Cancelled while it waits, it leaves the line, and takes no element.
    public func get(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Element> {
        if let flaw { return .rejected(flaw, fileID: fileID, line: line) }
        if let element = tryGet() { return .resolved(element, fileID: fileID, line: line) }
        let ticket = Guarded<WaitingLine<Resolver<Element>>.Ticket?>(nil)
        let (deferred, resolver) = Deferred<Element>.withResolver(
            canceller: { [weak self] _ in self?.leave(ticket.withLock { $0 }) }, fileID: fileID, line: line)
        let early = state.withLock { state -> Result<Element, any Error>? in
            // One may have been put since.
            if let element = state.elements.popFirst() { return .success(element) }
            if let backlog, state.line.count >= backlog {
                return .failure(DeferredError.queueUnderflow(backlog: backlog))
            }
            let place = state.line.append(resolver)
            ticket.withLock { $0 = place }
            return nil
        }
        if let early { resolver.complete(with: early, fileID: fileID, line: line) }
        return deferred
    }

    /// The element that has waited longest, if there is one.
    public func tryGet() -> Element? {
        state.withLock { $0.elements.popFirst() }
    }

    /// Takes one element after another and runs `body` with it, each when the Deferred of the one before has
    /// an outcome, until one fails or this is cancelled.
    ///
    /// Call it several times for several workers. `body` runs on the thread that puts the element, or at
    /// once. The Deferred never succeeds. Its cancel leaves the line, or cancels what `body` gave; the
    /// elements that wait stay in the queue.
    public func run<Ignored: Sendable>(
        _ body: @escaping @Sendable (Element) throws -> Deferred<Ignored>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        working(fileID, line) { $0.then { try body($0).thenReturn(()) } }
    }

    /// As the form above, for a `body` that is done when it returns.
    public func run(
        _ body: @escaping @Sendable (Element) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        working(fileID, line) { $0.then { try body($0) } }
    }

    /// As the form above, for an asynchronous `body`, which runs in a Task; a cancel cancels that.
    @_disfavoredOverload
    public func run(
        _ body: @escaping @Sendable (Element) async throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        working(fileID, line) { $0.then { try await body($0) } }
    }

    /// A worker does not keep the queue: when nobody else does it fails with ``DeferredError/abandoned``.
    private func working(
        _ fileID: StaticString, _ line: UInt,
        _ work: @escaping @Sendable (Deferred<Element>) -> Deferred<Void>
    ) -> Deferred<Void> {
        Looping.deferred(fileID: fileID, line: line) { [weak self] in
            guard let self else { throw DeferredError.abandoned }
            return work(get(fileID: fileID, line: line))
        }
    }

    private var flaw: DeferredError? {
        if let size, size < 0 { return .invalidArgument("a queue's size must not be negative, is \(size)") }
        if let backlog, backlog < 0 {
            return .invalidArgument("a queue's backlog must not be negative, is \(backlog)")
        }
        return nil
    }

    private func leave(_ ticket: WaitingLine<Resolver<Element>>.Ticket?) {
        guard let ticket else { return }
        let resolver = state.withLock { $0.line.remove(ticket) }
        _ = consume resolver
    }
}
