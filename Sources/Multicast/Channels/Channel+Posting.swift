extension Channel {
    /// Delivers a message to the present listeners.
    ///
    /// Returns when those without a dispatcher have been called and the work for the others has been
    /// submitted. A listener whose owner was deallocated gets nothing and does not count.
    ///
    /// ```swift
    /// let status = Channel<Status>("status")
    /// status.post(.connected, retained: true)
    /// status.listen(window) { window, status in window.show(status) }    // called with .connected, at once
    /// ```
    ///
    /// - Parameters:
    ///   - message: What the listeners receive.
    ///   - poster: An object whose own listeners are left out.
    ///   - retained: Whether to keep the message, in place of an earlier one, for listeners and sequences that
    ///     are added later: they receive it first. The channel retains it until
    ///     ``removeRetainedMessage()`` or ``finish()``, and with it stays in its directory without
    ///     listeners. A listener that is added while a message is posted receives the later one last, and
    ///     may receive that only. What is posted while a listener is called with the retained message, also
    ///     by itself, is delivered to it right after that, where the retained one is.
    /// - Returns: The number of listeners that were called or submitted to a dispatcher.
    @discardableResult
    public func post(_ message: Message, from poster: AnyObject? = nil, retained: Bool = false) -> Int {
        let delivery: @Sendable (AnyObject, Listener) -> Void = { owner, listener in
            // Soundness: a channel puts nothing else into its registry.
            unsafeDowncast(listener, to: MessageListener<Message>.self).receive(message, for: owner)
        }
        let registry = storage.registry
        let snapshot =
            retained ? registry.snapshot(retaining: RetainedMessage(message)) : registry.snapshot()
        let poster = poster.map { ObjectIdentifier($0) }
        var count = 0
        for case let registration? in snapshot where registration.listener.identity != poster {
            if registration.deliver(from: registry, delivery) { count += 1 }
        }
        return count
    }

    /// The last message that was posted with `retained: true`; nil if there is none or it was removed.
    public var retainedMessage: Message? {
        // Soundness: a channel retains nothing else.
        storage.registry.retained.map { unsafeDowncast($0, to: RetainedMessage<Message>.self).message }
    }

    /// Releases the retained message: later listeners receive only what is posted after they were added.
    public func removeRetainedMessage() {
        storage.registry.removeRetained()
    }

    /// Ends the channel: its sequences end, at once, when they have delivered the messages that they have
    /// buffered.
    ///
    /// ```swift
    /// let reader = Task { for await line in chat { print(line) } }
    /// chat.finish()       // the loop ends after the lines that were posted before
    /// ```
    ///
    /// What was submitted to listeners' dispatchers before is still delivered. Later
    /// posts have no effect, later listeners receive nothing, and later sequences are empty. The retained
    /// message is released. A named channel leaves its directory: the next ``init(_:in:)`` with its name
    /// creates a new channel. Finishing a channel again does nothing.
    public func finish() {
        // In this order, a handle created after the channel is finished is one of a new channel.
        if let anchor { anchor.directory?.remove(anchor) }
        storage.registry.finish()
    }

    /// Whether the channel was finished.
    public var isFinished: Bool { storage.registry.isFinished }
}
