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
    /// with `CancellationError`; the elements in the queue stay there. An element that was on its way to the worker, and
    /// that `body` does not receive, is delivered to the next caller or returns to the head of the queue, also if that is
    /// full or finished.
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
        return AsyncLoop.deferred(fileID: fileID, line: line) { [storage] isCancelled in
            // The errback receives only the failure of the queue, so that a job that fails with `.finished` does not end
            // the worker.
            storage.delivery(fileID, line).then(
                { delivery in
                    start(delivery.take()).mapResult { result in
                        if case .failure(let error) = result {
                            if stopsOnFailure || isCancelled() { throw error }
                            if !(error is CancellationError) {
                                DeferredDiagnostics.report(.unhandledFailure(error, made: place))
                            }
                        }
                        return .continue
                    }
                },
                orElse: { error throws -> Deferred<AsyncLoop.Next> in
                    guard case DeferredError.finished = error else { throw error }
                    return .resolved(.end)
                })
        }
    }
}
