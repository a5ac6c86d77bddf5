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
/// Elements enter the queue in the order in which they were put and sent, and are delivered in that order, to callers
/// in the order in which they asked. ``finish()`` ends the queue: the elements that were put or sent before are still
/// delivered, after that ``get(fileID:line:)`` fails with ``DeferredError/finished``, and workers end.
///
/// Releasing the last reference to a queue that was not finished ends it, too: workers deliver what is in it. Then they
/// end with ``DeferredError/abandoned``, as calls do that wait. Without a worker, the elements are released. Safe from
/// any thread.
///
/// With a size or backlog below zero, every use fails with ``DeferredError/invalidArgument(_:)``.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public final class DeferredQueue<Element: Sendable>: Sendable {
    @usableFromInline let storage: QueueStorage

    /// Creates an empty queue.
    ///
    /// ```swift
    /// let calls = DeferredQueue<Call>(size: 0, backlog: 2)    // passed to one of at most two operators, or refused
    /// let operators = [calls.get(), calls.get()]              // a third get() would fail with `.queueUnderflow`
    /// try calls.put(call)                                     // without an operator: throws `.queueOverflow`
    /// ```
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
    public var size: Int? { storage.state.withLock { $0.size } }

    /// How many callers may wait for an element; nil for no limit.
    public var backlog: Int? { storage.state.withLock { $0.backlog } }

    /// The elements that wait in the queue, the next one first.
    ///
    /// - Complexity: O(*n*), where *n* is the number of elements; O(*n* log *n*) after elements have come
    ///   back.
    @inlinable
    public var elements: [Element] { storage.elements.map { $0.value.value() } }

    /// How many elements wait in the queue.
    public var count: Int { storage.state.withLock { $0.elements.count } }

    /// How many callers, workers included, wait for an element.
    public var waitingCount: Int { storage.state.withLock { $0.getters.count } }

    /// How many calls of ``send(_:fileID:line:)`` wait for room.
    public var sendingCount: Int { storage.state.withLock { $0.senders.count } }

    /// Whether ``finish()`` was called. There may still be elements in the queue.
    public var isFinished: Bool { storage.state.withLock { $0.end == .finished } }

    /// Delivers `element` to the caller that has waited longest, whose callbacks run before this returns, or keeps it
    /// in the queue.
    ///
    /// Throws ``DeferredError/queueOverflow(size:)`` if the queue is full, and ``DeferredError/finished`` after
    /// ``finish()``; the element is not kept then.
    @inlinable
    public func put(_ element: Element) throws { try storage.put(.value(element)) }

    /// Waits until there is room for `element`, and puts it into the queue.
    ///
    /// ```swift
    /// func produce() -> Deferred<Void> { jobs.send(nextJob()).then { produce() } }   // as fast as the workers are
    /// ```
    ///
    /// The Deferred is resolved when the element is in the queue: at once, if there is room. In a queue of size 0 it is
    /// resolved when the element was received; one that was not comes back, and waits for the next caller. A cancel
    /// before that withdraws the element. (If it is on its way to a caller just then, who may yet receive it, `send`
    /// fails with `CancellationError`, and it does not come back.) After ``finish()`` the Deferred fails with
    /// ``DeferredError/finished``; what was sent before still enters. Where no worker is left, also after one with
    /// `stopsOnFailure`, it waits for as long as the queue is there. It fails with ``DeferredError/abandoned`` if
    /// neither the queue nor a worker is left.
    @discardableResult
    @inlinable
    public func send(
        _ element: Element, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        Deferred<Void>(storage.send(.value(element), fileID, line))
    }

    /// Ends the queue. The elements that were put or sent before are still delivered; calls that wait for one fail with
    /// ``DeferredError/finished``, in the order in which they were made, on this thread, before this returns.
    ///
    /// Calling it again does nothing.
    ///
    /// - Complexity: O(*n*), where *n* is the number of callers that wait for an element.
    public func finish() { storage.end(with: .finished) }

    /// Returns the element that has waited longest, or waits for the next one.
    ///
    /// Fails with ``DeferredError/finished`` after ``finish()`` once no element is left, and with
    /// ``DeferredError/queueUnderflow(backlog:)`` if as many callers wait already as may. A cancel while it waits
    /// removes it from the queue; it takes no element.
    ///
    /// An element that nobody receives is not lost: if everything that has it is released before a callback, an `await`
    /// or another reader has received it, as when what was attached to the Deferred was cancelled or timed out first,
    /// it returns to its place at the head of the queue, also if that is full or finished, and goes to the next caller.
    /// What receives and what only passes on is in <doc:UndeliveredValues>.
    @inlinable
    public func get(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Element> {
        Deferred(storage.next(isWorker: false, fileID, line))
    }

    /// Returns the element that has waited longest, if there is one.
    @inlinable
    public func tryGet() -> Element? { storage.takeNext()?.value.value() }

    /// Removes and returns the elements that are in the queue, the next one first.
    ///
    /// ```swift
    /// for job in jobs.removeAll() { print("discarded: \(job)") }
    /// ```
    ///
    /// Calls of ``send(_:fileID:line:)`` that wait for room are not ended: as many of their elements enter, in order, as
    /// there is room for, before this returns. To discard those, too, call this until it returns an empty array. Calls
    /// and workers that wait for an element go on waiting; after ``finish()``, workers end, as nothing is left. An element
    /// that is on its way to a caller who does not receive it still comes back.
    ///
    /// - Complexity: O(*n*), where *n* is the number of elements.
    @inlinable
    public func removeAll() -> [Element] { storage.removeAll().map { $0.value.value() } }
}

extension DeferredQueue {
    /// Starts a worker: takes one element after another and runs `body` with it, each when the job before is done:
    /// when `body` has returned or, if it returned a Deferred (or another ``DeferredConvertible``), when that is
    /// settled.
    ///
    /// ```swift
    /// let workers = (0..<8).map { _ in jobs.run { job in perform(job) } }
    /// …
    /// jobs.finish()
    /// DeferredList(workers).results().done { _ in print("all jobs done") }
    /// ```
    ///
    /// The worker ends when the queue does: its Deferred is resolved after ``finish()`` and the last job. A job that
    /// fails does not end it: the failure is reported as unhandled, with the place of this call, unless it is a
    /// `CancellationError`. Handle it inside `body` (`perform(job).fail { log($0) }`). `body` runs on the thread that
    /// puts the element, or at once.
    ///
    /// A cancel of the worker's Deferred cancels the job in progress, or the wait for the next element, and fails it
    /// with `CancellationError`; the elements in the queue stay there. An element that was on its way to the worker,
    /// and that `body` does not receive, is delivered to the next caller or returns to the head of the queue, also if
    /// that is full or finished.
    ///
    /// The worker, not the queue, decides how long elements are delivered: when the queue is released, the worker
    /// continues until none is left. Then its Deferred is resolved if the queue was finished, and fails with
    /// ``DeferredError/abandoned`` otherwise. A `body` that uses the queue keeps it until it is finished.
    ///
    /// - Parameters:
    ///   - stopsOnFailure: Whether a job that fails ends the worker: its Deferred then fails with that error.
    ///   - body: Does a job.
    public func run<Ignored: Sendable>(
        stopsOnFailure: Bool = false, _ body: @escaping @Sendable (Element) throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        work(stopsOnFailure, on: nil, fileID, line) { Deferred(waitingFor: try body($0)) }
    }

    /// Starts a worker whose `body` runs on the main actor. Otherwise behaves as `run` without `on:`.
    public func run<Ignored: Sendable>(
        on _: MainActor.Type, stopsOnFailure: Bool = false,
        _ body: @escaping @MainActor @Sendable (Element) throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        work(stopsOnFailure, on: .mainActor, fileID, line) { element in
            Deferred(waitingFor: try MainActor.assumeIsolated { try body(element) })
        }
    }

    /// Starts a worker with an asynchronous `body`, which runs in one Task for all elements; a cancel cancels that
    /// Task. It sees the task-local values of this call: see <doc:TaskLocals>. Otherwise behaves as `run`.
    public func asyncRun(
        stopsOnFailure: Bool = false, _ body: @escaping @Sendable (Element) async throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        CallersTask.calling { task in
            work(stopsOnFailure, on: nil, fileID, line) { element in
                task.run({ try await body(element) }, fileID, line)
            }
        }
    }

    private func work(
        _ stopsOnFailure: Bool, on place: (any Dispatcher)?, _ fileID: StaticString, _ line: UInt,
        _ start: @escaping @Sendable (Element) throws -> Deferred<Void>
    ) -> Deferred<Void> {
        let site = DeferredDiagnostic.Location(fileID: fileID, line: line)
        let start = DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(start) : start
        return AsyncLoop.deferred(fileID, line) { [storage] isCancelled in
            let next = Deferred<Element>(storage.next(isWorker: true, fileID, line))
            // The end of the queue, which a worker that is cancelled at that moment does not receive, is not reported.
            next.disownFailure()
            // An error of a job is none of the queue's: one that fails with `.finished` does not end the worker.
            return next.loopStep(on: place) { element in
                Deferred(following: { try start(element) }).attach(nil, site) { input in
                    if let error = input.error {
                        if stopsOnFailure || isCancelled() { return input.copy() }
                        if !input.isOfCancelledWork, !(error is CancellationError) {
                            DeferredDiagnostics.report(.unhandledFailure(error, made: site))
                        }
                    }
                    return .value(NextStep.continue)
                }
            }
        }
    }
}
