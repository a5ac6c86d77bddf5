#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// A record, on the stack of a thread, of a ``ReadersWriterLock`` that the thread holds.
///
/// With it, what would otherwise be an occasional deadlock fails the same way every time. A read inside a
/// read takes no lock, since this thread already excludes writers. (Taking it again could mean to wait for a
/// writer that waits for this thread.) A write inside a read, and anything inside a write, stops the program
/// with a message that names both places (`fatalError`, as optimised builds drop a precondition's message).
/// The closures that run inside are synchronous, so a record never moves to another thread.
@usableFromInline
struct ReentrancyRecord {
    private enum Mode { case reading, readingAgain, writing }

    private let lock: ObjectIdentifier
    private let file: StaticString
    private let line: UInt
    private var mode = Mode.reading
    private var outer: UnsafeMutablePointer<ReentrancyRecord>?

    @usableFromInline
    init(of lock: ReadersWriterLock, _ file: StaticString, _ line: UInt) {
        self.lock = ObjectIdentifier(lock)
        self.file = file
        self.line = line
    }

    @usableFromInline
    static func beginReading(_ record: UnsafeMutablePointer<ReentrancyRecord>, of lock: ReadersWriterLock) {
        if let outer = innermost(of: lock) {
            if outer.pointee.mode == .writing {
                record.pointee.stop("read { }", inside: outer, "use the outer closure's $0")
            }
            record.pointee.mode = .readingAgain
        } else {
            lock.lockForReading()
        }
        push(record)
    }

    @usableFromInline
    static func endReading(_ record: UnsafeMutablePointer<ReentrancyRecord>, of lock: ReadersWriterLock) {
        pop(record)
        if record.pointee.mode == .reading {
            lock.unlockAfterReading()
        }
    }

    @usableFromInline
    static func beginWriting(_ record: UnsafeMutablePointer<ReentrancyRecord>, of lock: ReadersWriterLock) {
        if let outer = innermost(of: lock) {
            let advice =
                outer.pointee.mode == .writing ? "use the outer closure's $0" : "use one write { } for both"
            record.pointee.stop("write { }", inside: outer, advice)
        }
        lock.lockForWriting()
        record.pointee.mode = .writing
        push(record)
    }

    @usableFromInline
    static func endWriting(_ record: UnsafeMutablePointer<ReentrancyRecord>, of lock: ReadersWriterLock) {
        pop(record)
        lock.unlockAfterWriting()
    }

    /// Stops the program: the access would wait for its own thread.
    private func stop(
        _ access: String, inside outer: UnsafeMutablePointer<ReentrancyRecord>, _ advice: String
    ) -> Never {
        let outerAccess = outer.pointee.mode == .writing ? "write { }" : "read { }"
        let place = "\(outer.pointee.file):\(outer.pointee.line)"
        fatalError(
            """
            \(access) inside \(outerAccess) of the same SynchronizedValue (begun at \(place)) would wait for itself: \
            \(advice)
            """,
            file: file,
            line: line
        )
    }

    /// The records of a thread form a list; the thread's slot points to the innermost. Sound
    /// pointers: a record is unlinked before the function that has it on its stack returns, also by throwing,
    /// and only its own thread reads it.
    private static func push(_ record: UnsafeMutablePointer<ReentrancyRecord>) {
        record.pointee.outer = innermostOfThread
        pthread_setspecific(slot, record)
    }

    private static func pop(_ record: UnsafeMutablePointer<ReentrancyRecord>) {
        pthread_setspecific(slot, record.pointee.outer)
    }

    private static func innermost(of lock: ReadersWriterLock) -> UnsafeMutablePointer<ReentrancyRecord>? {
        var candidate = innermostOfThread
        while let found = candidate, found.pointee.lock != ObjectIdentifier(lock) {
            candidate = found.pointee.outer
        }
        return candidate
    }

    private static var innermostOfThread: UnsafeMutablePointer<ReentrancyRecord>? {
        pthread_getspecific(slot)?.assumingMemoryBound(to: ReentrancyRecord.self)
    }

    private static let slot: pthread_key_t = {
        var slot = pthread_key_t()
        let failure = pthread_key_create(&slot, nil)
        if failure != 0 { fatalError("no thread-specific slot is left (pthread_key_create: \(failure))") }
        return slot
    }()
}
