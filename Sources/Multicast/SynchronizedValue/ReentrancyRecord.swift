internal import Deferred

/// A record, on the stack of a thread, of a ``ReadersWriterLock`` that the thread holds.
///
/// With it, what would otherwise be an occasional deadlock fails the same way every time. A read inside a
/// read takes no lock, since this thread already excludes writers. (A second read lock could wait for a writer that
/// waits for the first one.) A write inside a read, and anything inside a write, stops the program
/// with a message that names both places (`fatalError`, as optimised builds drop a precondition's message).
/// The closures that run inside are synchronous, so a record never moves to another thread.
@usableFromInline
struct ReentrancyRecord {
    private let lock: ObjectIdentifier
    private let isWriting: Bool
    private let file: StaticString
    private let line: UInt
    /// Whether this is a read inside a read.
    private var isInner = false
    /// The records of a thread form a list; the thread's slot points to the innermost. Sound
    /// pointers: a record is unlinked before the function that has it on its stack returns, also by throwing,
    /// and only its own thread reads it.
    private var outer: UnsafeMutablePointer<ReentrancyRecord>?
    private static let innermost = ThreadSlot()

    @usableFromInline
    init(of lock: ReadersWriterLock, isWriting: Bool, _ file: StaticString, _ line: UInt) {
        self.lock = ObjectIdentifier(lock)
        self.isWriting = isWriting
        self.file = file
        self.line = line
    }

    /// Takes the lock, if this thread does not have it, and adds `record` to those of the thread.
    @usableFromInline
    static func begin(_ record: UnsafeMutablePointer<ReentrancyRecord>, of lock: ReadersWriterLock) {
        record.pointee.outer = innermost.value?.assumingMemoryBound(to: ReentrancyRecord.self)
        var candidate = record.pointee.outer
        while let found = candidate, found.pointee.lock != record.pointee.lock {
            candidate = found.pointee.outer
        }
        if let found = candidate {
            if record.pointee.isWriting || found.pointee.isWriting {
                record.pointee.stop(inside: found.pointee)
            }
            record.pointee.isInner = true
        } else if record.pointee.isWriting {
            lock.lockForWriting()
        } else {
            lock.lockForReading()
        }
        innermost.value = UnsafeMutableRawPointer(record)
    }

    @usableFromInline
    static func end(_ record: UnsafeMutablePointer<ReentrancyRecord>, of lock: ReadersWriterLock) {
        innermost.value = UnsafeMutableRawPointer(record.pointee.outer)
        if record.pointee.isInner { return }
        if record.pointee.isWriting { lock.unlockAfterWriting() } else { lock.unlockAfterReading() }
    }

    private var access: String { isWriting ? "write { }" : "read { }" }

    /// Stops the program: the access would wait for its own thread.
    private func stop(inside outer: ReentrancyRecord) -> Never {
        let advice = outer.isWriting ? "use the outer closure's $0" : "use one write { } for both"
        fatalError(
            """
            \(access) inside \(outer.access) of the same SynchronizedValue (begun at \(outer.file):\(outer.line)) \
            would wait for itself: \(advice)
            """, file: file, line: line)
    }
}
