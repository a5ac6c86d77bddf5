internal import Synchronization

extension DeferredList {
    /// The outcomes in the order of completion, each with its input's index in the list.
    ///
    /// ```swift
    /// for await (index, result) in list.completed {
    ///     print(names[index], result)
    /// }
    /// ```
    ///
    /// Reading this property starts a list with a limit. The sequence is one consumer of each distinct input, and
    /// handles their failures. It may be iterated once. If the Task that iterates is cancelled, the sequence ends,
    /// and the inputs still pending are cancelled as far as nothing else consumes them. Leaving the loop early
    /// cancels nothing; the sequence then consumes no input any more, and releases the outcomes that were not read. A
    /// value is received when it is read (``Deferred/resolve(_:onUndelivered:fileID:line:)``).
    ///
    /// A list with a limit starts no further input for this sequence while 100 outcomes wait to be read, nor after
    /// the loop was left early; so an endless list of inputs needs constant memory, provided that no handle of the
    /// list is kept.
    public var completed: some AsyncSequence<(index: Int, result: Result<Value, any Error>), Never> & Sendable
    {
        let (stream, continuation) = AsyncStream<(index: Int, input: Link)>.makeStream()
        let backlog = Backlog()
        let inputs: LimitedInputs<Value>? =
            if case .limited(let handle) = source { handle.inputs } else { nil }
        let (all, observer): (Deferred<Void>, ListObserver?) = observe(
            .each { index, input in
                backlog.count.add(1, ordering: .relaxed)
                continuation.yield((index: index, input: input))
            }, fileID, line, backlog
        ) { _, _ in .value(()) }
        continuation.onTermination = { _ in observer?.leaveEarly() }
        all.finally { _ in continuation.finish() }
        return Completions(stream: stream, all: all) {
            backlog.count.subtract(1, ordering: .relaxed)
            inputs?.startInputs()
        }
    }
}

/// The stream of a list's outcomes, and the list's Deferred, which is cancelled with the Task that iterates.
private struct Completions<Value: Sendable>: AsyncSequence, Sendable {
    typealias Element = (index: Int, result: Result<Value, any Error>)
    typealias Failure = Never

    /// The outcomes are read, and their values received (V1), when they are taken out of the stream.
    let stream: AsyncStream<(index: Int, input: Link)>
    let all: Deferred<Void>
    /// Called for each outcome that was read.
    let didRead: @Sendable () -> Void

    struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<(index: Int, input: Link)>.Iterator
        let all: Deferred<Void>
        let didRead: @Sendable () -> Void

        mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            let all = all
            let completed = await withTaskCancellationHandler(
                operation: { await base.next(isolation: actor) }, onCancel: { all.cancel() }, isolation: actor
            )
            guard let (index, input) = completed else { return nil }
            didRead()
            return (index, input.payload.result())
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(base: stream.makeAsyncIterator(), all: all, didRead: didRead)
    }
}
