extension DeferredList {
    /// The outcomes as they come, each with its input's place in the list.
    ///
    /// ```swift
    /// for await (index, result) in list.completed {
    ///     print(names[index], result)
    /// }
    /// ```
    ///
    /// Asking for it begins a list with a limit. It is one consumer of each distinct input, and handles their
    /// failures. It may be iterated once. If the Task that iterates is cancelled the sequence ends, and the
    /// inputs still pending are cancelled as far as nobody else consumes them. Leaving the loop early cancels
    /// nothing.
    public var completed: some AsyncSequence<(index: Int, result: Result<Value, any Error>), Never> & Sendable
    {
        let (stream, continuation) = AsyncStream<(index: Int, result: Result<Value, any Error>)>.makeStream()
        let all: Deferred<Void> = start(
            .each { index, input in
                continuation.yield((index: index, result: input.content.result()))
            }, fileID, line
        ) { _, _ in .value(()) }
        all.finally { _ in continuation.finish() }
        return Completions(stream: stream, all: all)
    }
}

/// The stream of a list's outcomes, and the list's Deferred, to be cancelled with the Task that iterates.
private struct Completions<Value: Sendable>: AsyncSequence, Sendable {
    typealias Element = (index: Int, result: Result<Value, any Error>)
    typealias Failure = Never

    let stream: AsyncStream<Element>
    let all: Deferred<Void>

    struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<Element>.Iterator
        let all: Deferred<Void>

        mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            let all = all
            return await withTaskCancellationHandler(
                operation: { await base.next(isolation: actor) }, onCancel: { all.cancel() }, isolation: actor
            )
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator(), all: all) }
}
