extension DeferredQueue {
    /// Starts a worker: takes one element after another and runs `body` with it, each when the job
    /// before is done: when `body` has returned or, if it returned a Deferred (or another ``DeferredConvertible``), when
    /// that is settled.
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
    /// with `CancellationError`; the elements in the queue stay there. An element that another thread puts for the
    /// worker at that moment, and that `body` does not receive, is delivered to the next caller or stays in the queue,
    /// also if that is full or finished. A worker does not keep the queue alive: when
    /// the queue is released, the worker's Deferred fails with ``DeferredError/abandoned``.
    ///
    /// - Parameters:
    ///   - stopsOnFailure: Whether a job that fails ends the worker: its Deferred then fails with that error.
    ///   - body: Does a job.
    public func run<Ignored: Sendable>(
        stopsOnFailure: Bool = false, _ body: @escaping @Sendable (Element) throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        work(stopsOnFailure, fileID, line) { element in
            Deferred(following: { Deferred(waitingFor: try body(element)) })
        }
    }

    /// Starts a worker with an asynchronous `body`, which runs in a Task for each element; a cancel cancels that
    /// Task. Otherwise behaves as `run`.
    public func asyncRun(
        stopsOnFailure: Bool = false, _ body: @escaping @Sendable (Element) async throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        work(stopsOnFailure, fileID, line) { element in
            Deferred(operation: { try await body(element) }, fileID: fileID, line: line)
        }
    }

    private func work(
        _ stopsOnFailure: Bool, _ fileID: StaticString, _ line: UInt,
        _ start: @escaping @Sendable (Element) -> Deferred<Void>
    ) -> Deferred<Void> {
        let place = DeferredDiagnostic.Location(fileID: fileID, line: line)
        return AsyncLoop.deferred(fileID: fileID, line: line) { [weak self] isCancelled in
            guard let self else { throw DeferredError.abandoned }
            // The errback receives only the failure of `get`, so that a job that fails with `.finished` does not end
            // the worker.
            let element = get(fileID: fileID, line: line)
            return element.then(
                { element in
                    start(element).mapResult { result in
                        if case .failure(let error) = result {
                            if stopsOnFailure || isCancelled() { throw error }
                            if !(error is CancellationError) {
                                DeferredDiagnostics.report(.unhandledFailure(error, made: place))
                            }
                        }
                        return .continue
                    }
                },
                orElse: { [weak self] error throws -> Deferred<AsyncLoop.Next> in
                    // The cancel came after a `put` had completed `element`, and before the callback ran.
                    if case .success(let element) = element.currentResult { self?.putBack(element) }
                    guard case DeferredError.finished = error else { throw error }
                    return .resolved(.end)
                })
        }
    }
}
