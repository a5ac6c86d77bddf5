import Foundation

/// The entries that tests add from any thread, in order.
///
/// Sound as `@unchecked Sendable`: `entries` is accessed only under `lock`.
public final class SharedLog<Entry: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var entries: [Entry] = []

    /// Creates an empty log.
    public init() {}

    /// Appends an entry.
    @Sendable public func add(_ entry: Entry) { lock.withLock { entries.append(entry) } }

    /// Appends an entry.
    public func callAsFunction(_ entry: Entry) { add(entry) }

    /// Appends an entry and returns `value`, for closures of one expression.
    public func callAsFunction<Value>(_ entry: Entry, returning value: Value) -> Value {
        add(entry)
        return value
    }

    /// Removes and returns the oldest entry; nil if there is none.
    public func removeFirst() -> Entry? { lock.withLock { entries.isEmpty ? nil : entries.removeFirst() } }

    /// The entries so far, oldest first.
    public var all: [Entry] { lock.withLock { entries } }
}
