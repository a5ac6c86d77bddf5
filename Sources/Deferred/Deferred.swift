/// A result that will be there later: a value or an error, once.
///
/// You hang callbacks on it with ``then(on:_:fileID:line:)`` and errbacks with `fail`; each takes what the
/// one before it gave, and gives the next position in the chain:
///
/// ```swift
/// let page = Deferred<String>()
/// page
///     .then { $0.count }
///     .then { print("\($0) characters") }
///     .fail { print("no page: \($0)") }
///
/// page.resolve("…")
/// ```
///
/// A callback may give another Deferred, and the chain waits for it.
///
/// **A handle is a position in the chain.** `then` does not change the Deferred it is called on: attach twice
/// to one, and both callbacks see the same value.
///
/// **Where callbacks run.** With `on:`, on that ``Dispatcher``. Without, at once on the thread that fires,
/// before `resolve` returns; or before `then` returns if the Deferred has fired already. Callbacks attached
/// to one Deferred run one at a time and in the order attached, whatever threads are involved, and before any
/// further downstream.
///
/// **Every Deferred ends.** When nothing is left that could fire it, it fails with
/// ``DeferredError/abandoned``. A failure that nobody handles is reported to ``DeferredDiagnostics`` when the
/// last handle goes.
///
/// A Deferred is a small handle, like a `Task`: copies are the same Deferred, and are equal.
public struct Deferred<Value: Sendable>: Sendable {
    @usableFromInline let link: Link

    @inlinable
    init(_ link: Link) { self.link = link }
}

extension Deferred: Hashable {
    /// Whether both are handles to the same Deferred.
    @inlinable
    public static func == (a: Deferred, b: Deferred) -> Bool { a.link === b.link }

    /// Hashes the identity.
    @inlinable
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(link)) }
}

extension Deferred: CustomStringConvertible, CustomDebugStringConvertible {
    /// Its outcome, or what it waits for and where that was made, up the chain; in one line, which leaves out
    /// what is far up.
    public var description: String { "Deferred<\(Value.self)>: \(link.describe())" }

    /// Its outcome, or all that it waits for, a line for each: how and where that was made and what it does,
    /// up the chain, and for a list down into each of its inputs that is pending. (Up to a thousand lines.)
    ///
    /// ```
    /// Deferred<Int>: waits (then, made at App/Pages.swift:12)
    /// ← waits for 1 of a list of 2 (list, made at App/Pages.swift:10)
    ///   1: its callback waits on its dispatcher, parsing (then, made at App/Pages.swift:9)
    /// ```
    public var debugDescription: String { "Deferred<\(Value.self)>: \(link.describeChain())" }
}

extension Deferred {
    /// The outcome, or `nil` while there is none. A failure that has been seen here counts as handled.
    @inlinable
    public var currentResult: Result<Value, any Error>? { link.look() ? link.content.result() : nil }
}
