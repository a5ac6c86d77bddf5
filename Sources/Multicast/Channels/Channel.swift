public import Deferred

/// A place where messages of one type are posted, found by its name.
///
/// ```swift
/// struct LineSaid: Sendable { let speaker: String, text: String }
///
/// let chat = Channel<LineSaid>("chat")
/// chat.listen(window, on: .main) { window, line in window.show(line) }
/// chat.post(LineSaid(speaker: "ada", text: "hello"), from: ada)
/// ```
///
/// A channel is told by its name and the type of its messages: `Channel<Int>("x")` is the same one wherever
/// it is written, and another than `Channel<String>("x")`; see ``ChannelDirectory``. A `Channel` is a handle;
/// a channel is there for as long as it has a handle or a listener.
///
/// - A listener belongs to an object, its owner, which is held weakly: when that has gone, the listener has.
///   While a message is being delivered the owner is kept alive.
/// - Listeners of higher priority are called, or handed to their dispatcher, first; those of one priority in
///   the order added. A listener's own messages come in the order posted, if its dispatcher keeps order. (A
///   listener that is called at once and posts to the same channel gets in ahead of the listeners after it.)
/// - A delivery that was not begun when the listener was removed is not made.
/// - Everything may be called from any thread, also from inside a listener. Nothing runs under a lock.
public struct Channel<Message: Sendable>: Sendable {
    let storage: ChannelStorage<Message>
    private let anchor: ChannelAnchor?

    /// The channel of this name, and of messages of this type.
    public init(_ name: String, in directory: ChannelDirectory = .shared) {
        let anchor = directory.anchor(named: name, of: Message.self)
        self.anchor = anchor
        // The type is part of what the directory looks up, so the cast holds.
        storage = anchor.storage as! ChannelStorage<Message>
    }

    /// A channel of its own, that only copies of this handle reach.
    public init() {
        storage = ChannelStorage(name: nil)
        anchor = nil
    }

    /// The name; nil if it was made without one.
    public var name: String? { storage.name }

    /// Has `body` called with every message posted from now on, for as long as `owner` is there.
    ///
    /// - Parameters:
    ///   - owner: Held weakly. `body` should not hold it strongly, or it would keep itself there; take it from
    ///     the other form of this method instead, which gives it to `body`.
    ///   - priority: Higher is called earlier.
    ///   - dispatcher: Where `body` runs; nil for at once, on the thread of whoever posts.
    public func listen(
        _ owner: AnyObject,
        priority: Int = 0,
        on dispatcher: (any Dispatcher)? = nil,
        _ body: @escaping @Sendable (Message) -> Void
    ) {
        storage.registry.add(
            Registration(MessageListener(owner) { body($1) }, on: dispatcher, priority: priority)
        )
    }

    /// Has `body` called with its owner and every message posted from now on, for as long as the owner is
    /// there.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and given to `body`.
    ///   - priority: Higher is called earlier.
    ///   - dispatcher: Where `body` runs; nil for at once, on the thread of whoever posts.
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Int = 0,
        on dispatcher: (any Dispatcher)? = nil,
        _ body: @escaping @Sendable (Owner, Message) -> Void
    ) {
        // What is delivered to is what was added, so the cast holds.
        let listener = MessageListener(owner) { body($0 as! Owner, $1) }
        storage.registry.add(Registration(listener, on: dispatcher, priority: priority))
    }

    /// Gives a message to everyone who listens now.
    ///
    /// Returns when those without a dispatcher have been called and the others handed over.
    ///
    /// - Parameters:
    ///   - message: What they get.
    ///   - poster: Left out, if it listens itself.
    /// - Returns: How many it was given or handed to.
    @discardableResult
    public func post(_ message: Message, from poster: AnyObject? = nil) -> Int {
        let delivery: @Sendable (AnyObject, Listener) -> Void = { owner, listener in
            // Soundness: a channel puts nothing else into its registry.
            unsafeDowncast(listener, to: MessageListener<Message>.self).body(owner, message)
        }
        let poster = poster.map { ObjectIdentifier($0) }
        var count = 0
        for case let registration? in storage.registry.snapshot()
        where registration.listener.identity != poster {
            if registration.deliver(from: storage.registry, delivery) { count += 1 }
        }
        return count
    }

    /// Removes an owner's listeners and ends its ``messages(for:priority:buffering:)``: those on one
    /// dispatcher, or (nil) all. Also from inside the owner's `deinit`.
    ///
    /// Dispatchers that are objects are compared by identity, others by `==`; removing by a dispatcher that
    /// is neither stops the program with a message.
    public func remove(_ owner: AnyObject, on dispatcher: (any Dispatcher)? = nil) {
        storage.registry.remove(ObjectIdentifier(owner), on: dispatcher)
    }

    /// Removes every listener and ends every sequence of messages.
    public func removeAll() {
        storage.registry.removeAll()
    }

    /// The listeners as they are now, for a person to look at.
    public var listing: ChannelListing { storage.listing }
}
