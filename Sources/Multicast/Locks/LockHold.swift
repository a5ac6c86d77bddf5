#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// A note, on the stack of a thread, that it is inside a ``ReadersWriterLock``.
///
/// With it, what would otherwise be a deadlock now and then is the same every time: to read again inside a
/// read needs no lock, since this thread keeps writers out already (asking for it again would mean waiting
/// for a writer that waits for this thread); to go from reading to writing, or into anything from writing, is
/// refused with a message (`fatalError`: a precondition's is dropped from optimised builds). The closures run
/// inside are synchronous, so a note never moves to another thread.
@usableFromInline
struct LockHold {
    private enum Mode { case reading, readingAgain, writing }

    private let lock: ObjectIdentifier
    private var mode = Mode.reading
    private var outer: UnsafeMutablePointer<LockHold>?

    @usableFromInline
    init(of lock: ReadersWriterLock) {
        self.lock = ObjectIdentifier(lock)
    }

    @usableFromInline
    static func beginReading(_ hold: UnsafeMutablePointer<LockHold>, of lock: ReadersWriterLock) {
        if let earlier = innermost(of: lock) {
            if earlier.pointee.mode == .writing {
                fatalError(
                    "read { } inside write { } of one SynchronizedValue: it is being changed; use write's $0")
            }
            hold.pointee.mode = .readingAgain
        } else {
            lock.lockForReading()
        }
        push(hold)
    }

    @usableFromInline
    static func endReading(_ hold: UnsafeMutablePointer<LockHold>, of lock: ReadersWriterLock) {
        pop(hold)
        if hold.pointee.mode == .reading {
            lock.unlockAfterReading()
        }
    }

    @usableFromInline
    static func beginWriting(_ hold: UnsafeMutablePointer<LockHold>, of lock: ReadersWriterLock) {
        if let earlier = innermost(of: lock) {
            fatalError(
                earlier.pointee.mode == .writing
                    ? "write { } inside write { } of one SynchronizedValue: it is being changed; use the outer $0"
                    : "write { } inside read { } of one SynchronizedValue would wait for itself: use one write { }"
            )
        }
        lock.lockForWriting()
        hold.pointee.mode = .writing
        push(hold)
    }

    @usableFromInline
    static func endWriting(_ hold: UnsafeMutablePointer<LockHold>, of lock: ReadersWriterLock) {
        pop(hold)
        lock.unlockAfterWriting()
    }

    /// The notes of a thread form a list through their frames; the thread's slot points to the innermost.
    /// Soundness of the pointers: a note is taken off before the frame that holds it returns, throwing
    /// included, and only its own thread sees it.
    private static func push(_ hold: UnsafeMutablePointer<LockHold>) {
        hold.pointee.outer = innermostOfThread
        pthread_setspecific(slot, hold)
    }

    private static func pop(_ hold: UnsafeMutablePointer<LockHold>) {
        pthread_setspecific(slot, hold.pointee.outer)
    }

    private static func innermost(of lock: ReadersWriterLock) -> UnsafeMutablePointer<LockHold>? {
        var candidate = innermostOfThread
        while let found = candidate, found.pointee.lock != ObjectIdentifier(lock) {
            candidate = found.pointee.outer
        }
        return candidate
    }

    private static var innermostOfThread: UnsafeMutablePointer<LockHold>? {
        pthread_getspecific(slot)?.assumingMemoryBound(to: LockHold.self)
    }

    private static let slot: pthread_key_t = {
        var slot = pthread_key_t()
        let failure = pthread_key_create(&slot, nil)
        if failure != 0 { fatalError("no thread-specific slot is left (pthread_key_create: \(failure))") }
        return slot
    }()
}
