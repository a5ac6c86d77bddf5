extension BroadcastChannel: AsyncSequence {
    /// Returns an iterator of the messages that are posted from now on. Every one is buffered until it is
    /// consumed.
    ///
    /// For another buffering policy, use ``messages(for:priority:buffering:)``.
    public func makeAsyncIterator() -> AsyncStream<Message>.Iterator { messages().makeAsyncIterator() }

    /// Returns a sequence of the messages that are posted from now on (from this call, not from the first
    /// `await`).
    ///
    /// ```swift
    /// let latest = channel.messages(buffering: .bufferingNewest(1))
    /// for await message in latest { await draw(message) }
    /// ```
    ///
    /// A retained message comes first; see ``post(_:from:retained:)``. The sequence listens until it and its
    /// iterators are released or the Task that iterates is cancelled. Once it is removed, or the channel is finished
    /// (``finish()``) or has no handle left, it ends after the messages that it has buffered. When only its owner is
    /// deallocated, it ends at the next post: let the owner remove itself in its `deinit` to end it earlier.
    ///
    /// - Parameters:
    ///   - owner: The object that this sequence listens for: a post `from:` it is left out, and removing it
    ///     ends the sequence. A weak reference. Nil if there is none.
    ///   - priority: When it receives a message, among the channel's listeners.
    ///   - policy: Which messages are kept if they are posted faster than they are consumed: all, the oldest,
    ///     or the newest.
    public func messages(
        for owner: AnyObject? = nil, priority: Int = 0,
        buffering policy: AsyncStream<Message>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Message> {
        let (stream, continuation) = AsyncStream.makeStream(of: Message.self, bufferingPolicy: policy)
        let standIn = StandIn()
        // The token retains neither the channel nor the registration: when they are released, the listener ends the
        // stream.
        let token = add(StreamListener(owner ?? standIn, continuation), priority, nil)
        continuation.onTermination = { _ in withExtendedLifetime(standIn) { token.remove() } }
        return stream
    }
}

/// A channel's listener that adds messages to a stream, and ends it when it gets no more or is released.
///
/// Sound as `@unchecked Sendable` as ``Listener`` is.
private final class StreamListener<Message: Sendable>: MessageListener<Message>, @unchecked Sendable {
    private let continuation: AsyncStream<Message>.Continuation

    init(_ owner: AnyObject, _ continuation: AsyncStream<Message>.Continuation) {
        self.continuation = continuation
        super.init(owner) { _, message in continuation.yield(message) }
    }

    deinit { didEnd() }

    override func didEnd() { continuation.finish() }
}

/// The owner of a listener that has no other, for as long as the stream can be iterated.
private final class StandIn: Sendable {}
