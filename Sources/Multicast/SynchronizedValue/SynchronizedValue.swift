// Sound as `@unchecked Sendable`: `storage` is read and changed only between the begin and the end of a
// record for reading or writing, which exclude each other; the lock is Sendable itself. That exclusion is also the one
// that `@exclusivity(unchecked)` relies on: the run-time check would only find again what the lock and its records
// have made sure of.

/// A value that many threads can read at the same time and one at a time can change.
///
/// ```swift
/// let members = SynchronizedValue<[String: Int]>([:])
/// let score = members.read { $0["ada"] }
/// members.write { $0["ada", default: 0] += 1 }
/// ```
///
/// Closures run at once, on the calling thread, inside the lock. Readers run side by side; a writer runs
/// alone. Readers do not overtake the writer that is next, and when it is done, all readers that came meanwhile
/// run before the one after it: neither side starves.
///
/// ## What may be done inside
/// - Read the same value again inside `read`: that never waits.
/// - Use another `SynchronizedValue`, if all code that nests the two nests them in the same order, as with
///   any lock.
/// - Not `write` inside `read`, nor either inside `write`, of the same value: it could only wait for itself,
///   so it stops the program with a message that names both places. To read and then change, use one
///   `write`.
/// - Not wait for another thread that needs the same value, and not call code that may do any of this.
///
/// ## When it is worth it
/// Where reads far outnumber writes *and* take long (microseconds: a walk through a collection, a sort, a
/// formatting), so that there is something to gain from doing them side by side: with reads of 2 microseconds
/// on two processors, nine reads in ten or more, 1.5 to 1.8 times the work of a `Mutex`. With as many writes
/// as reads it does a quarter less than a `Mutex`, and for reads and writes of a few instructions it takes
/// three times as long (a read 28 nanoseconds, a write 38; either 10): letting in a reader costs more than
/// the read.
public final class SynchronizedValue<Value: Sendable>: @unchecked Sendable {
    @usableFromInline let lock = ReadersWriterLock()
    @exclusivity(unchecked) @usableFromInline var storage: Value

    /// Creates a readers-writer value that starts as `initial`.
    public init(_ initial: Value) { storage = initial }

    /// Calls `body` with the value, at once, on this thread, while other readers may be doing the same.
    ///
    /// Waits while a writer has the value or waits for it. Returns what `body` returns, and throws what it
    /// throws.
    @inlinable
    public func read<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(Failure) -> Result {
        var record = ReentrancyRecord(of: lock, isWriting: false, fileID, line)
        return try withUnsafeMutablePointer(to: &record) { record throws(Failure) in
            ReentrancyRecord.begin(record, of: lock)
            defer { ReentrancyRecord.end(record, of: lock) }
            return try body(storage)
        }
    }

    /// Calls `body` with the value to change, at once, on this thread, while no other thread reads or changes it.
    ///
    /// Waits for the readers and writers that came before. Returns what `body` returns, and throws what it
    /// throws; what `body` had changed by then stays changed.
    @inlinable
    @discardableResult
    public func write<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(Failure) -> Result {
        var record = ReentrancyRecord(of: lock, isWriting: true, fileID, line)
        return try withUnsafeMutablePointer(to: &record) { record throws(Failure) in
            ReentrancyRecord.begin(record, of: lock)
            defer { ReentrancyRecord.end(record, of: lock) }
            return try body(&storage)
        }
    }

    /// A copy of the value as it is now.
    ///
    /// Inside a ``write(_:fileID:line:)`` of the same value it stops the program. A property does not know
    /// its caller, so the message names the place of that `write`.
    @inlinable
    public var value: Value { read { $0 } }
}
