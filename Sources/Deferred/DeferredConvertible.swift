/// A type whose values stand for a Deferred: what a callback may return for the chain to wait for.
///
/// `Deferred` conforms. Conform a type of your own, such as a request object, to return it from
/// ``Deferred/then(on:_:fileID:line:)`` in place of a Deferred:
///
/// ```swift
/// struct Download: DeferredConvertible {
///     let deferred: Deferred<Data>
///     let progress: Progress
/// }
///
/// let page = session.then { Download(for: $0) }     // a Deferred<Data>
/// ```
public protocol DeferredConvertible<Value>: Sendable {
    /// The type of the Deferred's value.
    associatedtype Value: Sendable

    /// The Deferred that this value stands for. Read once each time that a chain waits for this value.
    var deferred: Deferred<Value> { get }
}

extension Deferred: DeferredConvertible {
    /// This same handle.
    @inlinable public var deferred: Deferred<Value> { self }
}

extension Deferred<Void> {
    /// Creates a Deferred that is settled as `result` is, if that is a ``DeferredConvertible``, and a resolved one
    /// otherwise.
    ///
    /// For bodies whose result is ignored: one closure type for those that return a Deferred and those that do
    /// not costs the compiler less than an overload for each.
    init(waitingFor result: some Sendable) {
        func completion(of convertible: some DeferredConvertible) -> Deferred<Void> {
            convertible.deferred.thenReturn(())
        }
        self = (result as? any DeferredConvertible).map { completion(of: $0) } ?? .resolved()
    }
}
