public import Deferred

// Sound as `@unchecked Sendable`: the registry and `place` are constants of Sendable types. A `Delegate` is not stored
// as such; `Listener` argues why it may be passed to another thread.

/// Delegates that are notified and asked together, each on the dispatcher that it was added with.
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
/// - References to delegates are weak. A delegate that is deallocated before it is called is skipped and
///   removed. A delegate is retained while it is checked and called; so the last reference to it may be
///   released, and its `deinit` run, on the thread that does so.
/// - A call that has not begun when the delegate is removed is not made. One that is in progress on another
///   thread may still be running when ``remove(_:on:fileID:line:)`` returns; removed on the (serial) queue it
///   is called on, a delegate is not called again.
/// - Everything may be called from any thread, also from inside a delegate's method and from its `deinit`.
///   Nothing runs under a lock.
///
/// ## Delegates and isolation
/// A delegate need not be `Sendable`: to add it with a dispatcher says that it may be called there, as to use
/// it on one queue only is what makes many delegates safe. That promise is the adder's; the compiler does not
/// check it. Let the protocol inherit from `Sendable` to have it checked. The methods of a protocol bound to
/// the main actor are called with `on: MainActor.self`: `notify(on: MainActor.self) { delegate in delegate.update() }`.
///
/// Which task-local values closures see is in the article `TaskLocals` of the module `Deferred`.
public final class MulticastDelegate<Delegate>: @unchecked Sendable {
    let registry: ListenerRegistry
    /// Where all delegates are called and asked; nil for each on its own dispatcher.
    let place: (any Dispatcher)?

    /// Creates an object without delegates.
    public init() {
        registry = ListenerRegistry()
        place = nil
    }

    /// Creates an object with the delegates of a registry, to call and ask them in one place.
    init(_ registry: ListenerRegistry, calledOn place: some Dispatcher) {
        self.registry = registry
        self.place = place
    }

    /// Adds a delegate, to be called after those added before it.
    ///
    /// - Parameters:
    ///   - delegate: An object. The reference to it is weak.
    ///   - dispatcher: Where it is called; nil for at once, on the thread that notifies or asks.
    /// - Returns: A token that removes this one registration. It may be ignored.
    @discardableResult
    public func add(
        _ delegate: Delegate, on dispatcher: (any Dispatcher)?,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ListenerToken {
        let object = Self.object(of: delegate, fileID: fileID, line: line)
        let registration = Registration(DelegateListener(delegate, object), on: dispatcher)
        registry.add(registration)
        return ListenerToken(registration.listener, in: registry)
    }

    /// Removes a delegate, however often it was added. Does nothing if it was not added.
    ///
    /// - Parameters:
    ///   - delegate: The delegate to remove.
    ///   - dispatcher: Removes it only where it was added with this dispatcher; `nil`: everywhere. Dispatchers that are
    ///     objects are compared by identity, others by `==`. One that is neither stops the program with a message.
    /// - Complexity: O(*k*), where *k* is the number of dispatchers on which `delegate` was added.
    public func remove(
        _ delegate: Delegate, on dispatcher: (any Dispatcher)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let object = Self.object(of: delegate, fileID: fileID, line: line)
        registry.remove(ObjectIdentifier(object), on: dispatcher, CallSite(fileID: fileID, line: line))
    }

    /// Adds a delegate, to be called on the main actor. Otherwise behaves as ``add(_:on:fileID:line:)``.
    @discardableResult
    public func add(
        _ delegate: Delegate, on _: MainActor.Type, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ListenerToken {
        add(delegate, on: MainActorDispatcher(), fileID: fileID, line: line)
    }

    /// Removes a delegate where it was added to be called on the main actor. Otherwise behaves as
    /// ``remove(_:on:fileID:line:)``.
    public func remove(
        _ delegate: Delegate, on _: MainActor.Type, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        remove(delegate, on: MainActorDispatcher(), fileID: fileID, line: line)
    }

    /// Removes every delegate.
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates.
    public func removeAll() { registry.removeAll() }

    /// Calls `body` with each delegate, on its dispatcher, or at once on this thread where it has none.
    ///
    /// Returns when the delegates without a dispatcher have been called and the calls of the others have been
    /// submitted; it does not wait for those. Calls are submitted in the order added, and those of one `notify`
    /// before those of the next: on a serial queue they are made in that order. They are submitted before the
    /// delegates without a dispatcher are called, so that the order is kept even if one of these notifies again.
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates.
    public func notify(_ body: @escaping @Sendable (Delegate) -> Void) {
        let registrations = registrations
        let body = DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(body) : body
        let call: @Sendable (AnyObject, Listener) -> Void = { object, listener in
            body(Self.delegate(of: listener, object))
        }
        for registration in registrations where registration.isDispatched {
            registration.deliver(from: registry, call)
        }
        for registration in registrations where !registration.isDispatched {
            registration.deliver(from: registry, call)
        }
    }

    /// The number of calls that ``notify(_:)`` would make now.
    ///
    /// Delegates that other threads add or remove meanwhile may count or not, as with every snapshot.
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates.
    public var count: Int { elements.count }

    /// Returns the number of calls that ``notify(_:)`` would make now to delegates that `predicate` accepts.
    ///
    /// `predicate` is called at once, on this thread, whatever dispatcher the delegate was added with: use only
    /// what is safe to use from here, such as the delegate's type (`count { $0 is any AudibleDelegate }`).
    public func count(where predicate: (Delegate) throws -> Bool) rethrows -> Int {
        try elements.count { try predicate($0.delegate) }
    }

    /// The present delegates, in the order added, each with its dispatcher. The array retains them.
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates.
    public var elements: [(delegate: Delegate, dispatcher: (any Dispatcher)?)] {
        registry.snapshot().compactMap { registration in
            registration.listener.recipient(in: registry).map {
                (Self.delegate(of: registration.listener, $0), registration.dispatcher)
            }
        }
    }

    /// Those to call or to ask now, each with the dispatcher to do it on.
    var registrations: [Registration] {
        let present = registry.snapshot()
        guard let place else { return present }
        return present.map { Registration($0.listener, on: place) }
    }

    /// Returns the delegate as an object, and stops the program if it is none. No constraint can require that: an
    /// existential of a class-bound protocol does not satisfy `AnyObject`.
    private static func object(of delegate: Delegate, fileID: StaticString, line: UInt) -> AnyObject {
        let object = delegate as AnyObject
        if DelegateListener.isPlainReference(delegate, to: object) { return object }
        let type = type(of: delegate as Any)
        fatalError(
            type is AnyClass
                ? "\(Self.self) can't refer to a \(type) weakly, since \(Delegate.self) stores it in a box: "
                    + "use a class-bound protocol"
                : "A delegate is referred to weakly, so it must be an object; \(type), added to \(Self.self), "
                    + "is not a class", file: fileID, line: line)
    }

    /// Returns the delegate of a listener, whose object the caller retains. Sound: nothing else
    /// is put into the registry.
    static func delegate(of listener: Listener, _ object: AnyObject) -> Delegate {
        withExtendedLifetime(object) {
            unsafeDowncast(listener, to: DelegateListener<Delegate>.self).unowned.pointee
        }
    }
}

/// A weak reference to a delegate, which returns it as the `Delegate` that it was added as.
///
/// A cast of the object, `as! Delegate`, looks up the object's conformances each time:
/// measured, 50 of the 140 nanoseconds of a call. So the bytes of the `Delegate` are kept beside the weak
/// reference, unowned.
///
/// Sound: a value that begins with the address of an object, and whose dynamic type is that object's
/// class, is the reference to the object and constants besides (type metadata, witness tables): a class
/// reference or an existential container; to copy it is to retain the object. (A container with a box of its
/// own, as `any Error` is, begins with the address of something of another type, and is refused.) So its
/// bytes are a `Delegate` for as long as the object lives, and are made into one only by a caller that retains
/// the object. The memory is written before anybody else sees this, and freed in `deinit` without being
/// deinitialised, since it owns nothing. Sound as `@unchecked Sendable` as ``Listener`` is.
final class DelegateListener<Delegate>: Listener, @unchecked Sendable {
    fileprivate let unowned: UnsafeMutablePointer<Delegate>

    /// Whether a delegate whose dynamic type is a class is nothing but a reference to `object`. Sound: the bytes are
    /// read only if the dynamic type is a class, so that there is at least a pointer.
    static func isPlainReference(_ delegate: Delegate, to object: AnyObject) -> Bool {
        type(of: object) == type(of: delegate as Any)
            && withUnsafeBytes(of: delegate) { bytes in
                bytes.load(as: UInt.self) == UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
            }
    }

    /// A listener for a delegate that is a plain reference to `object`.
    init(_ delegate: Delegate, _ object: AnyObject) {
        let memory = UnsafeMutablePointer<Delegate>.allocate(capacity: 1)
        withUnsafeBytes(of: delegate) { bytes in
            UnsafeMutableRawBufferPointer(start: memory, count: bytes.count).copyMemory(from: bytes)
        }
        unowned = memory
        super.init(object)
    }

    deinit { unowned.deallocate() }
}
