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
    /// cancels nothing.
    ///
    /// A list with a limit starts no further input for this sequence while 100 outcomes wait to be read, nor after
    /// the loop was left early; so an endless list of inputs needs constant memory, provided that no handle of the
    /// list is kept.
    public var completed: some AsyncSequence<(index: Int, result: Result<Value, any Error>), Never> & Sendable
    {
        let (stream, continuation) = AsyncStream<(index: Int, result: Result<Value, any Error>)>.makeStream()
        let backlog = Backlog(source)
        if case .limited = source { continuation.onTermination = { _ in backlog.end() } }
        let all: Deferred<Void> = start(
            .each { index, input in
                backlog.change(by: 1)
                continuation.yield((index: index, result: input.payload.result()))
            }, fileID, line, opened: backlog.begin
        ) { _, _ in .value(()) }
        all.finally { _ in continuation.finish() }
        return Completions(stream: stream, all: all, backlog: backlog)
    }

    /// The connection between a `completed` sequence and the inputs of a list with a limit.
    fileprivate final class Backlog: Sendable {
        private let inputs: LimitedInputs<Value>?
        /// The list whose outcomes are read, until the sequence ends or is released.
        private let list = SpinLocked<ListObserver?>(nil)

        init(_ source: Source) {
            if case .limited(let handle) = source { inputs = handle.inputs } else { inputs = nil }
        }

        func begin(_ list: ListObserver) {
            self.list.withLock { $0 = list }
        }

        /// Records that outcomes were added or taken.
        func change(by change: Int) {
            guard let inputs, let list = list.withLock({ $0 }) else { return }
            inputs.changeBacklog(of: list, by: change)
        }

        func end() {
            guard let inputs, let list = list.withLock({ $0.take() }) else { return }
            inputs.leave(unread: list)
        }
    }
}

/// The stream of a list's outcomes, and the list's Deferred, which is cancelled with the Task that iterates.
private struct Completions<Value: Sendable>: AsyncSequence, Sendable {
    typealias Element = (index: Int, result: Result<Value, any Error>)
    typealias Failure = Never

    let stream: AsyncStream<Element>
    let all: Deferred<Void>
    let backlog: DeferredList<Value>.Backlog

    struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<Element>.Iterator
        let all: Deferred<Void>
        let backlog: DeferredList<Value>.Backlog

        mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            let all = all
            let element = await withTaskCancellationHandler(
                operation: { await base.next(isolation: actor) }, onCancel: { all.cancel() }, isolation: actor
            )
            if element != nil { backlog.change(by: -1) }
            return element
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(base: stream.makeAsyncIterator(), all: all, backlog: backlog)
    }
}
