/// The right to fire one Deferred, apart from the Deferred itself: give the Deferred to who waits, keep this
/// where the result comes from.
///
/// A resolver may be copied, and called from any thread; the first result counts. When the last copy goes
/// before that, the Deferred fails with ``DeferredError/abandoned``.
public struct Resolver<Value: Sendable>: Sendable {
    @usableFromInline let producer: Producer

    @inlinable
    init(_ producer: Producer) { self.producer = producer }

    /// Fires the Deferred with a value; true if this call fired it.
    ///
    /// Callbacks run before this returns, on this thread, unless they name a dispatcher or the Deferred is
    /// paused. If it had fired, nothing changes, and that is reported as
    /// ``DeferredDiagnostic/alreadyFired(made:firedFirst:again:)``; except for the first result that comes
    /// after a cancel, which is dropped without a word.
    @discardableResult
    @inlinable
    public func resolve(_ value: Value, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
        producer.fire(.value(value), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Fires the Deferred with an error; otherwise as ``resolve(_:fileID:line:)``.
    @discardableResult
    @inlinable
    public func reject(_ error: any Error, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
        producer.fire(.failure(error), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Fires the Deferred with a result; otherwise as ``resolve(_:fileID:line:)``.
    @discardableResult
    @inlinable
    public func complete(
        with result: Result<Value, any Error>, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        producer.fire(.init(result), DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Fires the Deferred as `other` fires; firing it by hand first wins.
    ///
    /// It is a consumer of `other`: cancelling the Deferred cancels `other` if nobody else consumes that. If
    /// `other` waits for the Deferred itself, the Deferred fails with ``DeferredError/cycle``. Called on a
    /// Deferred that has fired, it does nothing.
    @inlinable
    public func follow(_ other: Deferred<Value>) {
        if let source = producer.source { source.follow(other.link) }
    }

    /// As ``follow(_:)``, where this resolver is kept only to ask whether the Deferred was cancelled: who waits
    /// for that waits for `other`.
    func follow(only other: Deferred<Value>) {
        guard let source = producer.source else { return }
        let rare = source.ensureRare()
        source.locked { rare.firesOnlyByFollowing = true }
        source.follow(other.link)
    }

    /// Whether the Deferred was cancelled while it was pending: nobody waits for the result any more.
    @inlinable
    public var isCancelled: Bool { producer.isCancelled }
}

extension Resolver where Value == Void {
    /// Fires the Deferred; as ``resolve(_:fileID:line:)``.
    @discardableResult
    @inlinable
    public func resolve(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
        resolve((), fileID: fileID, line: line)
    }
}

extension Link {
    /// Makes this source fire as `other` fires, and runs what that sets off. False if it had fired.
    @usableFromInline
    @discardableResult
    func follow(_ other: Link) -> Bool {
        var frame = Frame()
        let follows = frame.follow(self, other)
        frame.run()
        return follows
    }
}
