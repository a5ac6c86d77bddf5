extension Channel: AsyncSequence {
    /// The messages posted from now on, every one kept until it is asked for.
    ///
    /// For another way of keeping them, see ``messages(for:priority:buffering:)``.
    public func makeAsyncIterator() -> AsyncStream<Message>.Iterator {
        messages().makeAsyncIterator()
    }

    /// The messages posted from now on (from this call, not from the first `await`), as a sequence.
    ///
    /// ```swift
    /// let latest = channel.messages(buffering: .bufferingNewest(1))
    /// for await message in latest { await draw(message) }
    /// ```
    ///
    /// It listens until the sequence and its iterators are let go of or the Task that iterates is cancelled.
    /// It ends when it is removed, when its owner has gone (which shows at the next post), or when the
    /// channel has.
    ///
    /// - Parameters:
    ///   - owner: The object this listens for: a post `from:` it is left out, removing it ends the sequence. Held
    ///     weakly. Nil if nobody in particular.
    ///   - priority: When it is given a message, among the channel's listeners.
    ///   - policy: What is kept of messages that come faster than they are taken: all, the oldest, or the newest.
    public func messages(
        for owner: AnyObject? = nil,
        priority: Int = 0,
        buffering policy: AsyncStream<Message>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Message> {
        let (stream, continuation) = AsyncStream.makeStream(of: Message.self, bufferingPolicy: policy)
        let tap = MessageTap(continuation)
        let listener = MessageListener<Message>(owner ?? tap.nobody) { _, message in tap.give(message) }
        let registration = Registration(listener, on: nil, priority: priority)
        // Neither the channel nor the registration is held from here: if they go, the tap ends the stream.
        continuation.onTermination = {
            [nobody = tap.nobody, weak storage = storage, weak registration] _ in
            withExtendedLifetime(nobody) {
                if let registration { storage?.registry.remove([registration]) }
            }
        }
        storage.registry.add(registration)
        return stream
    }
}

/// The listener's end of a stream: when the listener is let go of, for whatever reason, the stream ends.
private final class MessageTap<Message: Sendable>: Sendable {
    final class Nobody: Sendable {}

    /// Stands in for an owner, for as long as somebody may iterate.
    let nobody = Nobody()
    private let continuation: AsyncStream<Message>.Continuation

    init(_ continuation: AsyncStream<Message>.Continuation) {
        self.continuation = continuation
    }

    deinit {
        continuation.finish()
    }

    func give(_ message: Message) {
        continuation.yield(message)
    }
}
