/// A result that will be available later: a value or an error.
///
/// Attach callbacks with ``map(on:_:fileID:line:)``, ``then(on:_:fileID:line:)`` and ``done(on:_:fileID:line:)``, and
/// errbacks with ``recover(on:_:fileID:line:)``, ``orElse(on:_:fileID:line:)`` and ``fail(on:_:fileID:line:)``. Each
/// receives the result of the one before it, and each attaching call returns the next position in the chain:
///
/// ```swift
/// let page = Deferred<String>()
/// page
///     .map { $0.count }
///     .done { print("\($0) characters") }
///     .fail { print("no page: \($0)") }
///
/// page.resolve("…")
/// ```
///
/// A callback of `then` returns another Deferred, and the chain waits for it.
///
/// **A handle is a position in the chain.** Attaching does not change the Deferred that it is called on: two
/// callbacks attached to one Deferred both receive the same value.
///
/// **Where callbacks run.** With `on:`, on that ``Dispatcher``. Without it, at once: on the completing thread,
/// before `resolve` returns; or, if the Deferred is settled, before the attaching call returns. Callbacks attached to
/// one Deferred run one at a time, in the order attached, whatever threads are involved, and before any further
/// downstream.
///
/// **Every chain ends.** When nothing is left that could complete a Deferred, it fails with
/// ``DeferredError/abandoned``. A failure that nothing handles is reported to ``DeferredDiagnostics`` when the last
/// handle is released.
///
/// A Deferred is a small handle, like a `Task`. Copies are handles to the same Deferred, and are equal.
public struct Deferred<Value: Sendable>: Sendable {
    @usableFromInline let link: Link

    @inlinable
    init(_ link: Link) { self.link = link }
}

extension Deferred: Hashable {
    /// Returns whether both are handles to the same Deferred.
    @inlinable
    public static func == (a: Deferred, b: Deferred) -> Bool { a.link === b.link }

    /// Hashes the identity.
    @inlinable
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(link)) }
}

extension Deferred: CustomStringConvertible, CustomDebugStringConvertible {
    /// Describes the outcome, or what this Deferred waits for, up the chain, in one line. A long chain is cut.
    public var description: String { "Deferred<\(Value.self)>: \(link.describe())" }

    /// Describes the outcome, or everything that this Deferred waits for, one line each: how and where it was
    /// created and what it does, up the chain, and for a list each pending input. At most 1,000 lines.
    ///
    /// ```
    /// Deferred<Int>: waits (map, made at App/Pages.swift:12)
    /// ← waits for 1 of a list of 2 (list, made at App/Pages.swift:10)
    ///   1: its callback waits on its dispatcher, parsing (map, made at App/Pages.swift:9)
    /// ```
    public var debugDescription: String { "Deferred<\(Value.self)>: \(link.describeChain())" }
}

extension Deferred {
    /// Returns whether this Deferred is settled: resolved or rejected. Unlike ``currentResult``, reading this handles
    /// no failure.
    @inlinable
    public var isSettled: Bool { link.isSettled }

    /// Returns the outcome, or `nil` while this Deferred is pending. A failure that is read here counts as handled.
    @inlinable
    public var currentResult: Result<Value, any Error>? { link.peek() ? link.payload.result() : nil }
}

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
    /// not costs the compiler less than an overload for each. A value that is ignored is not received (V1).
    init(waitingFor result: some Sendable) {
        func completion(of convertible: some DeferredConvertible) -> Deferred<Void> {
            convertible.deferred.mapOutcome { outcome in _ = try outcome.result.get() }
        }
        self = (result as? any DeferredConvertible).map { completion(of: $0) } ?? .resolved()
    }
}
