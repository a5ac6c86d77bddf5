public import Deferred

/// One event, many delegates: each held weakly, each called on the dispatcher it asked for.
///
/// ```swift
/// protocol RoomDelegate: AnyObject {
///     func room(_ room: String, received text: String)
/// }
///
/// let delegates = MulticastDelegate<any RoomDelegate>()
/// delegates.add(window, on: .main)
/// delegates.add(archive, on: DispatchQueue(label: "archive"))
/// delegates.notify { $0.room("lobby", received: "hello") }
/// ```
///
/// `Delegate` is a class-bound protocol or a class; what is added must be an object, and is refused with a
/// message otherwise. The same object may be added more than once, on one dispatcher or several, and is
/// called as often.
///
/// - A delegate that has gone when its turn comes is skipped and forgotten. One that is being called is kept
///   alive until the call returns; so the last reference to it may be let go of, and its `deinit` run, on the
///   thread that called it.
/// - A call that was not begun when the delegate was removed is not made. One that is under way on another
///   thread may still be running when ``remove(_:on:fileID:line:)`` returns; removed on the (serial) queue it
///   is called on, a delegate is not called again.
/// - Everything may be called from any thread, also from inside a delegate's method and from its `deinit`.
///   Nothing runs under a lock.
///
/// ## Delegates and isolation
/// A delegate need not be `Sendable`: to add it with a dispatcher says that it may be called there, as to use
/// it on one queue only is what makes many delegates safe. That promise is the adder's; the compiler does not
/// check it. Let the protocol inherit from `Sendable` to have it checked. The methods of a protocol bound to
/// the main actor are called, for delegates added on `.main`, as `notify { delegate in
/// MainActor.assumeIsolated { delegate.update() } }`.
///
/// Soundness of `@unchecked Sendable`: the only state is the registry, which is Sendable; that nothing
/// follows from `Delegate` is argued above and at `Listener`.
public final class MulticastDelegate<Delegate>: @unchecked Sendable {
    let registry = ListenerRegistry()

    /// Nobody yet.
    public init() {}

    /// Adds a delegate, to be called after those added before it.
    ///
    /// - Parameters:
    ///   - delegate: An object. It is held weakly.
    ///   - dispatcher: Where it is called; nil for at once, on the thread of whoever notifies or asks.
    public func add(
        _ delegate: Delegate,
        on dispatcher: (any Dispatcher)?,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        let object = Self.object(of: delegate, fileID: fileID, line: line)
        registry.add(Registration(DelegateListener(delegate, object), on: dispatcher))
    }

    /// Removes a delegate, as often as it was added: on one dispatcher, or (nil) on any.
    ///
    /// Dispatchers that are objects are compared by identity, others by `==`; removing by a dispatcher that
    /// is neither stops the program with a message. Removing what is not there does nothing.
    public func remove(
        _ delegate: Delegate,
        on dispatcher: (any Dispatcher)? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        let object = Self.object(of: delegate, fileID: fileID, line: line)
        registry.remove(ObjectIdentifier(object), on: dispatcher)
    }

    /// Removes every delegate.
    public func removeAll() {
        registry.removeAll()
    }

    /// How many calls a ``notify(_:)`` would make now.
    public var count: Int {
        snapshot().count
    }

    /// How many calls a ``notify(_:)`` would make now to delegates that `predicate` chooses.
    ///
    /// It is called at once, on this thread, whatever dispatcher the delegate was added with: look only at
    /// what may be looked at from here, such as the delegate's type (`count { $0 is any AudibleDelegate }`).
    public func count(where predicate: (Delegate) throws -> Bool) rethrows -> Int {
        try snapshot().count { try predicate($0.delegate) }
    }

    /// The delegates as they are now, in the order added, each with its dispatcher, held for as long as you
    /// hold this.
    public func snapshot() -> [(delegate: Delegate, dispatcher: (any Dispatcher)?)] {
        registry.snapshot().compactMap { registration in
            guard let registration, let object = registration.listener.recipient(in: registry) else {
                return nil
            }
            return (Self.delegate(of: registration.listener, object), registration.dispatcher)
        }
    }

    /// That it is an object is the one thing that `Delegate` can't be asked for at compile time: an
    /// existential of a class-bound protocol doesn't satisfy `AnyObject` as a constraint.
    private static func object(of delegate: Delegate, fileID: StaticString, line: UInt) -> AnyObject {
        let object = delegate as AnyObject
        if DelegateListener.isPlainReference(delegate, to: object) { return object }
        let type = type(of: delegate as Any)
        fatalError(
            type is AnyClass
                ? "\(Self.self) can't hold a \(type) weakly, since \(Delegate.self) keeps it in a box: use a class-bound protocol"
                : "A delegate is held weakly, so it must be an object; \(type), given to \(Self.self), is not a class",
            file: fileID,
            line: line
        )
    }

    /// The delegate of a listener, whose object the caller holds. Soundness of `unsafeDowncast`: nothing else
    /// is put into the registry.
    static func delegate(of listener: Listener, _ object: AnyObject) -> Delegate {
        unsafeDowncast(listener, to: DelegateListener<Delegate>.self).delegate(object)
    }
}
