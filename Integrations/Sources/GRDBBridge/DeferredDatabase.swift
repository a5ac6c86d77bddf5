public import Deferred
public import GRDB

/// A database whose reads and writes are Deferreds.
///
/// ```swift
/// let database = DeferredDatabase(try DatabasePool(path: path))
/// let saved = database.write { try note.insert($0) }.then { database.read { try Note.fetchAll($0) } }
/// ```
///
/// A cancel interrupts: access that waits is not begun, and SQLite stops the statement that is running, so that a read ends
/// early and a write is rolled back. One that comes after the commit, as it may, finds the write done. The Deferred fails
/// with `CancellationError` at once in any case, so that it does not say which of the two has happened: write such that
/// a second attempt does no harm.
public struct DeferredDatabase: Sendable {
    /// The database itself.
    public let writer: any DatabaseWriter
    /// Tasks begin in no particular order. This has writes begin in the order of the calls.
    private let writing = DeferredLock()

    /// Creates one for a pool or a queue.
    public init(_ writer: any DatabaseWriter) { self.writer = writer }

    /// Reads in `body`, which runs on a thread of the database. Reads of a pool run at once with others and with a write.
    public func read<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) -> Deferred<T> {
        Deferred { [writer] in try await writer.read(body) }
    }

    /// Writes in `body`, in a transaction and on a thread of the database, after the writes that were asked for before. An
    /// error that it throws rolls back.
    public func write<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) -> Deferred<T> {
        writing.asyncRun { [writer] in try await writer.write(body) }
    }
}
