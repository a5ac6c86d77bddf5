/// A queue whose elements can be waited for (Twisted's `DeferredQueue`).
///
/// ```swift
/// let jobs = DeferredQueue<Job>(size: 100)
/// let worker = jobs.run { job in job.perform() }     // one at a time, until the queue is finished
/// try jobs.put(job)
/// …
/// jobs.finish()
/// worker.done { print("all jobs done") }
/// ```
///
/// Elements are delivered in the order in which they were put, to callers in the order in which they asked.
/// ``finish()`` ends the queue: the elements in it are still delivered, after that ``get(fileID:line:)`` fails with
/// ``DeferredError/finished``. When the queue is released, calls that still wait fail with
/// ``DeferredError/abandoned``. Safe from any thread.
///
/// With a size or backlog below zero, every use fails with ``DeferredError/invalidArgument(_:)``.
public final class DeferredQueue<Element: Sendable>: Sendable {
    private struct State {
        var elements = CancellableFIFO<Element>()
        /// Elements that were put back, which are delivered before the others; the next one is the last.
        var returned: [Element] = []
        var waiters = CancellableFIFO<Resolver<Element>>()
        var isFinished = false

        var count: Int { returned.count + elements.count }

        mutating func popElement() -> Element? { returned.popLast() ?? elements.popFirst() }
    }

    /// How many elements may wait in the queue; nil for no limit.
    public let size: Int?
    /// How many callers may wait for an element; nil for no limit.
    public let backlog: Int?
    private let state = SpinLocked(State())

    /// Creates an empty queue.
    public init(size: Int? = nil, backlog: Int? = nil) {
        self.size = size
        self.backlog = backlog
    }

    /// How many elements wait in the queue.
    public var count: Int { state.withLock { $0.count } }

    /// How many callers wait for an element.
    public var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Whether ``finish()`` was called. There may still be elements in the queue.
    public var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Delivers `element` to the caller that has waited longest, whose callbacks run before this returns, or keeps it
    /// in the queue.
    ///
    /// Throws ``DeferredError/queueOverflow(size:)`` if the queue is full, and ``DeferredError/finished`` after
    /// ``finish()``; the element is not kept then.
    public func put(_ element: Element) throws {
        if let flaw { throw flaw }
        while true {
            let next = try state.withLock { state throws -> Resolver<Element>? in
                if state.isFinished { throw DeferredError.finished }
                if let waiter = state.waiters.popFirst() { return waiter }
                if let size, state.count >= size { throw DeferredError.queueOverflow(size: size) }
                state.elements.append(element)
                return nil
            }
            // A caller that was cancelled in the meantime does not take it.
            guard let next, !next.resolve(element) else { return }
        }
    }

    /// Delivers an element whose worker was cancelled before it received it, or keeps it at the front of the queue.
    ///
    /// `put` has accepted it, so it is kept though the queue may be full, or finished, by now.
    func putBack(_ element: Element) {
        var waiter: Resolver<Element>?
        repeat {
            waiter = state.withLock { state in
                if let waiter = state.waiters.popFirst() { return waiter }
                state.returned.append(element)
                return nil
            }
        } while waiter.map { !$0.resolve(element) } ?? false
    }

    /// Ends the queue. The elements in it are still delivered; calls that wait for one fail with
    /// ``DeferredError/finished``, in the order in which they were made, on this thread, before this returns.
    ///
    /// Calling it again does nothing.
    public func finish() {
        state.withLock { $0.isFinished = true }
        while let waiter = state.withLock({ $0.waiters.popFirst() }) {
            waiter.reject(DeferredError.finished)
        }
    }

    /// Returns the element that has waited longest, or waits for the next one.
    ///
    /// Fails with ``DeferredError/finished`` after ``finish()`` once no element is left, and with
    /// ``DeferredError/queueUnderflow(backlog:)`` if as many callers wait already as may. A cancel while it waits
    /// removes it from the queue; it takes no element.
    public func get(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Element> {
        if let flaw { return .rejected(flaw, fileID: fileID, line: line) }
        if let element = tryGet() { return .resolved(element, fileID: fileID, line: line) }
        let ticket = SpinLocked<CancellableFIFO<Resolver<Element>>.Ticket?>(nil)
        let (deferred, resolver) = Deferred<Element>.withResolver(
            canceller: { [weak self] _ in self?.remove(ticket.withLock { $0 }) }, fileID: fileID, line: line)
        let early = state.withLock { state -> Result<Element, any Error>? in
            // An element may have been put since.
            if let element = state.popElement() { return .success(element) }
            if state.isFinished { return .failure(DeferredError.finished) }
            if let backlog, state.waiters.count >= backlog {
                return .failure(DeferredError.queueUnderflow(backlog: backlog))
            }
            let place = state.waiters.append(resolver)
            ticket.withLock { $0 = place }
            return nil
        }
        if let early { resolver.complete(with: early, fileID: fileID, line: line) }
        return deferred
    }

    /// Returns the element that has waited longest, if there is one.
    public func tryGet() -> Element? {
        state.withLock { $0.popElement() }
    }

    private var flaw: DeferredError? {
        if let size, size < 0 { return .invalidArgument("a queue's size must not be negative, is \(size)") }
        if let backlog, backlog < 0 {
            return .invalidArgument("a queue's backlog must not be negative, is \(backlog)")
        }
        return nil
    }

    private func remove(_ ticket: CancellableFIFO<Resolver<Element>>.Ticket?) {
        guard let ticket else { return }
        let resolver = state.withLock { $0.waiters.remove(ticket) }
        _ = consume resolver
    }
}
