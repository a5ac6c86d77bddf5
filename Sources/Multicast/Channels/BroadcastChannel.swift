public import Deferred

/// A place where messages of one type are posted, found by its name.
///
/// ```swift
/// struct LineSaid: Sendable { let speaker: String, text: String }
///
/// let chat = BroadcastChannel<LineSaid>("chat")
/// chat.listen(window, on: .main) { window, line in window.show(line) }
/// chat.post(LineSaid(speaker: "ada", text: "hello"), from: ada)
/// ```
///
/// The name and the type of the messages identify a channel: `BroadcastChannel<Int>("x")` is the same channel wherever
/// it is written, and another than `BroadcastChannel<String>("x")`; see ``ChannelDirectory``. A `BroadcastChannel` is a
/// handle; the channel exists for as long as it has a handle, a listener or a retained message.
///
/// - A listener belongs to an object, its owner, by a weak reference, and is removed once that is deallocated.
///   The owner is retained while a message is checked for it and delivered to it; so the last reference to it
///   may be released, and its `deinit` run, on the thread that posts.
/// - Listeners of higher priority are called, or submitted to their dispatcher, first; those of one priority
///   in the order added. Each listener receives the messages in the order posted, if its dispatcher keeps
///   order, as a serial queue and the main actor do. (If a listener that is called at once posts to the same
///   channel, the listeners after it receive that message first.)
/// - A delivery that has not begun when the listener is removed is not made.
/// - Everything may be called from any thread, also from inside a listener. Nothing runs under a lock.
///
/// Which task-local values closures see is in the article `TaskLocals` of the module `Deferred`.
public struct BroadcastChannel<Message: Sendable>: Sendable {
    let storage: ChannelStorage

    /// Returns a handle of the channel with this name and type of messages, which it creates if there is none.
    public init(_ name: String, in directory: ChannelDirectory = .shared) {
        storage = directory.storage(named: name, of: Message.self)
    }

    /// Creates a channel without a name, which only copies of this handle reach.
    public init() { storage = ChannelStorage(nil, Message.self, in: nil) }

    /// The name; nil if it was made without one.
    public var name: String? { storage.name }

    /// Calls `body` with every message that is posted from now on, for as long as `owner` exists.
    ///
    /// If a message is retained (see ``post(_:from:retained:)``), `body` is called with that first.
    ///
    /// - Parameters:
    ///   - owner: A weak reference. `body` should not retain it, or it would never be released; use the other
    ///     form of this method, which passes it to `body`.
    ///   - priority: Listeners of higher priority are called earlier.
    ///   - dispatcher: Where `body` runs; nil for at once, on the thread that posts.
    ///   - once: Whether the first message that `body` is called with, which may be the retained one, removes the
    ///     listener. A message that is not delivered to it (posted by its owner, or after its removal) does not count.
    ///     Of messages that wait on a dispatcher, it is the one whose work runs first; what ``post(_:from:retained:)``
    ///     returns counts the listener for each of them.
    /// - Returns: A token that removes this one listener. It may be ignored.
    @discardableResult
    public func listen(
        _ owner: AnyObject, priority: Int = 0, on dispatcher: (any Dispatcher)? = nil, once: Bool = false,
        _ body: @escaping @Sendable (Message) -> Void
    ) -> ListenerToken {
        let body = DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(body) : body
        return add(MessageListener(owner, once: once) { body($1) }, priority, dispatcher)
    }

    /// Calls `body` with its owner and every message that is posted from now on, for as long as the owner
    /// exists.
    ///
    /// If a message is retained (see ``post(_:from:retained:)``), `body` is called with that first.
    ///
    /// - Parameters:
    ///   - owner: A weak reference, passed to `body`.
    ///   - priority: Listeners of higher priority are called earlier.
    ///   - dispatcher: Where `body` runs; nil for at once, on the thread that posts.
    ///   - once: Whether the first message that `body` is called with, which may be the retained one, removes the
    ///     listener. A message that is not delivered to it (posted by its owner, or after its removal) does not count.
    ///     Of messages that wait on a dispatcher, it is the one whose work runs first; what ``post(_:from:retained:)``
    ///     returns counts the listener for each of them.
    /// - Returns: A token that removes this one listener. It may be ignored.
    @discardableResult
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner, priority: Int = 0, on dispatcher: (any Dispatcher)? = nil, once: Bool = false,
        _ body: @escaping @Sendable (Owner, Message) -> Void
    ) -> ListenerToken {
        // The owner that is passed is the one that was added, so the cast succeeds.
        let body = DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(body) : body
        return add(MessageListener(owner, once: once) { body($0 as! Owner, $1) }, priority, dispatcher)
    }

    /// Calls `body` on the main actor with every message that is posted from now on, for as long as `owner` exists.
    ///
    /// Otherwise behaves as the form with a dispatcher.
    @discardableResult
    public func listen(
        _ owner: AnyObject, priority: Int = 0, on _: MainActor.Type, once: Bool = false,
        _ body: @escaping @MainActor @Sendable (Message) -> Void
    ) -> ListenerToken {
        listen(owner, priority: priority, on: MainActorDispatcher(), once: once) { message in
            MainActor.assumeIsolated { body(message) }
        }
    }

    /// Calls `body` on the main actor with its owner and every message that is posted from now on, for as long as the
    /// owner exists.
    ///
    /// ```swift
    /// chat.listen(window, on: MainActor.self) { window, line in window.show(line) }
    /// ```
    ///
    /// Otherwise behaves as the form with a dispatcher.
    @discardableResult
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner, priority: Int = 0, on _: MainActor.Type, once: Bool = false,
        _ body: @escaping @MainActor @Sendable (Owner, Message) -> Void
    ) -> ListenerToken {
        listen(owner, priority: priority, on: MainActorDispatcher(), once: once) { owner, message in
            MainActor.assumeIsolated { body(owner, message) }
        }
    }

    func add(
        _ listener: MessageListener<Message>, _ priority: Int, _ dispatcher: (any Dispatcher)?
    ) -> ListenerToken {
        let registration = Registration(listener, on: dispatcher, priority: priority)
        if let retained = storage.registry.add(registration)?.retained {
            // Sound: a channel retains nothing else.
            let message = unsafeDowncast(retained, to: RetainedMessage<Message>.self).message
            registration.deliver(from: storage.registry) { owner, _ in
                listener.receiveRetained(message, for: owner)
            }
        }
        return ListenerToken(listener, in: storage.registry)
    }

    /// Removes an owner's listeners and ends its ``messages(for:priority:buffering:)``.
    ///
    /// May be called in the owner's `deinit`.
    ///
    /// - Parameters:
    ///   - owner: The object that the listeners belong to.
    ///   - dispatcher: Removes only the listeners on this dispatcher; `nil`: all of them. Dispatchers that are
    ///     objects are compared by identity, others by `==`. One that is neither stops the program with a message.
    /// - Complexity: O(*k*), where *k* is the number of listeners that `owner` has.
    public func remove(
        _ owner: AnyObject, on dispatcher: (any Dispatcher)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        storage.registry.remove(ObjectIdentifier(owner), on: dispatcher, CallSite(fileID: fileID, line: line))
    }

    /// Removes every listener and ends every sequence of messages. A retained message stays.
    ///
    /// - Complexity: O(*n*), where *n* is the number of listeners.
    public func removeAll() { storage.registry.removeAll() }

    /// The listeners as they are now, for debugging.
    ///
    /// - Complexity: O(*n*), where *n* is the number of listeners.
    public var listing: ChannelListing { storage.listing }
}

extension BroadcastChannel {
    /// Delivers a message to the present listeners.
    ///
    /// Returns when those without a dispatcher have been called and the work for the others has been
    /// submitted. A listener whose owner was deallocated gets nothing and does not count.
    ///
    /// ```swift
    /// let status = BroadcastChannel<Status>("status")
    /// status.post(.connected, retained: true)
    /// status.listen(window) { window, status in window.show(status) }    // called with .connected, at once
    /// ```
    ///
    /// - Parameters:
    ///   - message: What the listeners receive.
    ///   - poster: An object whose own listeners are left out.
    ///   - retained: Whether to keep the message, in place of an earlier one, for listeners and sequences that are
    ///     added later: they receive it first. The channel retains it until ``removeRetainedMessage()`` or
    ///     ``finish()``, and with it stays in its directory without listeners. A listener that the poster adds later
    ///     receives it, too. A listener that is added while a message is posted receives the later one last, and may
    ///     receive that only. What is posted while a listener is called with the retained message, also by itself, is
    ///     delivered to it right after that, where the retained one is.
    /// - Returns: The number of listeners that were called or submitted to a dispatcher.
    /// - Complexity: O(*n*), where *n* is the number of listeners; O(*n* log *n*) after one with another
    ///   priority was added.
    @discardableResult
    public func post(_ message: Message, from poster: AnyObject? = nil, retained: Bool = false) -> Int {
        let delivery: @Sendable (AnyObject, Listener) -> Void = { owner, listener in
            // Sound: a channel puts nothing else into its registry.
            unsafeDowncast(listener, to: MessageListener<Message>.self).receive(message, for: owner)
        }
        let registry = storage.registry
        let listeners = registry.snapshot(retaining: retained ? RetainedMessage(message) : nil)
        let poster = poster.map { ObjectIdentifier($0) }
        var count = 0
        for registration in listeners where registration.listener.identity != poster {
            if registration.deliver(from: registry, delivery) { count += 1 }
        }
        return count
    }

    /// The last message that was posted with `retained: true`; nil if there is none or it was removed.
    public var retainedMessage: Message? {
        // Sound: a channel retains nothing else.
        storage.registry.retained.map { unsafeDowncast($0, to: RetainedMessage<Message>.self).message }
    }

    /// Releases the retained message: later listeners receive only what is posted after they were added.
    public func removeRetainedMessage() { storage.registry.removeRetained() }

    /// Ends the channel: its sequences end, at once, when they have delivered the messages that they have
    /// buffered.
    ///
    /// ```swift
    /// let reader = Task { for await line in chat { print(line) } }
    /// chat.finish()       // the loop ends after the lines that were posted before
    /// ```
    ///
    /// What was submitted to listeners' dispatchers before is still delivered. Later posts have no effect, later
    /// listeners receive nothing, and later sequences are empty. The retained message and the listeners' closures are
    /// released. A named channel leaves its directory: the next ``init(_:in:)`` with its name creates a new channel.
    /// Finishing a channel again does nothing.
    ///
    /// - Complexity: O(*n*), where *n* is the number of listeners.
    public func finish() {
        // In this order, a handle created after the channel is finished is one of a new channel.
        storage.directory.object?.remove(storage)
        storage.registry.finish()
    }

    /// Whether the channel was finished.
    public var isFinished: Bool { storage.registry.isFinished }
}
