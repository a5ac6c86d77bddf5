/// A queue whose elements can be waited for (Twisted's `DeferredQueue`).
///
/// ```swift
/// let jobs = DeferredQueue<Job>(size: 100)
/// let worker = jobs.run { job in job.perform() }     // one at a time, until the queue is finished
/// jobs.send(job)                                     // waits while 100 jobs are in the queue
/// …
/// jobs.finish()
/// worker.done { print("all jobs done") }
/// ```
///
/// Elements enter the queue in the order in which they were put and sent, and are delivered in that order, to callers in
/// the order in which they asked. ``finish()`` ends the queue: the elements that were put or sent before are still
/// delivered, after that ``get(fileID:line:)`` fails with ``DeferredError/finished``, and workers end.
///
/// Releasing the last reference to a queue that was not finished ends it, too: workers deliver what is in it. Then they
/// end with ``DeferredError/abandoned``, as calls do that wait. Without a worker, the elements are released. Safe from
/// any thread.
///
/// With a size or backlog below zero, every use fails with ``DeferredError/invalidArgument(_:)``.
public final class DeferredQueue<Element: Sendable>: Sendable {
    let storage: QueueStorage<Element>

    /// Creates an empty queue.
    ///
    /// - Parameters:
    ///   - size: How many elements may wait in the queue; nil for no limit. With 0, elements are only passed to callers
    ///     that wait.
    ///   - backlog: How many callers may wait for an element; nil for no limit.
    public init(size: Int? = nil, backlog: Int? = nil) {
        storage = QueueStorage(size: size, backlog: backlog)
    }

    deinit { storage.end(with: .abandoned) }

    /// How many elements may wait in the queue; nil for no limit.
    public var size: Int? { storage.size }

    /// How many callers may wait for an element; nil for no limit.
    public var backlog: Int? { storage.backlog }

    /// The elements that wait in the queue, the next one first.
    public var elements: [Element] { storage.state.withLock { $0.elements.elements } }

    /// How many elements wait in the queue.
    public var count: Int { storage.state.withLock { $0.elements.count } }

    /// How many callers, workers included, wait for an element.
    public var waitingCount: Int { storage.state.withLock { $0.getters.count } }

    /// How many calls of ``send(_:fileID:line:)`` wait for room.
    public var sendingCount: Int { storage.state.withLock { $0.senders.count } }

    /// Whether ``finish()`` was called. There may still be elements in the queue.
    public var isFinished: Bool { storage.state.withLock { $0.end != nil } }

    /// Delivers `element` to the caller that has waited longest, whose callbacks run before this returns, or keeps it
    /// in the queue.
    ///
    /// Throws ``DeferredError/queueOverflow(size:)`` if the queue is full, and ``DeferredError/finished`` after
    /// ``finish()``; the element is not kept then.
    public func put(_ element: Element) throws {
        if let invalid = storage.invalidArgument { throw invalid }
        storage.perform(try storage.state.withLock { state throws in try state.put(element) })
    }

    /// Waits until there is room for `element`, and puts it into the queue.
    ///
    /// ```swift
    /// func produce() -> Deferred<Void> { jobs.send(nextJob()).then { produce() } }   // as fast as the workers are
    /// ```
    ///
    /// The Deferred is resolved when the element is in the queue, or was delivered: at once, if there is room. A cancel
    /// before that withdraws the element. After ``finish()`` the Deferred fails with ``DeferredError/finished``; what was
    /// sent before still enters. It fails with ``DeferredError/abandoned`` if neither the queue nor a worker is left.
    @discardableResult
    public func send(
        _ element: Element, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        storage.send(element, fileID, line)
    }

    /// Ends the queue. The elements that were put or sent before are still delivered; calls that wait for one fail with
    /// ``DeferredError/finished``, in the order in which they were made, on this thread, before this returns.
    ///
    /// Calling it again does nothing.
    public func finish() { storage.end(with: .finished) }

    /// Returns the element that has waited longest, or waits for the next one.
    ///
    /// Fails with ``DeferredError/finished`` after ``finish()`` once no element is left, and with
    /// ``DeferredError/queueUnderflow(backlog:)`` if as many callers wait already as may. A cancel while it waits
    /// removes it from the queue; it takes no element. Once settled, the Deferred has the element: a cancel of what is
    /// attached to it does not return that, as `run` does.
    public func get(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Element> {
        storage.get(fileID, line)
    }

    /// Returns the element that has waited longest, if there is one.
    public func tryGet() -> Element? {
        let (item, effects) = storage.state.withLock { $0.takeFirst() }
        storage.perform(effects)
        return item?.element
    }
}
