// The C library, for three things that Swift's own libraries do not offer: who the current thread is, giving way to
// another thread, and writing a line to standard error.
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Android)
internal import Android
#endif

enum Platform {
    /// A number that no other running thread has.
    static var currentThread: UInt {
        let thread = pthread_self()
        return withUnsafeBytes(of: thread) { $0.load(as: UInt.self) }
    }

    /// Writes a line to standard error in one piece.
    static func writeToStandardError(_ line: String) {
        var text = line + "\n"
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, rest.count > 0 {
                let written = write(2, start, rest.count)
                if written < 0 && errno == EINTR { continue }
                guard written > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
        }
    }
}

/// How a thread waits for a lock that is held for a few nanoseconds: it spins, gives way, and in the end sleeps, so that
/// a holder of lower priority that lost its processor gets one.
struct Backoff {
    private var rounds: UInt32 = 0

    mutating func pause() {
        rounds &+= 1
        if rounds < 64 { return }
        if rounds < 128 {
            sched_yield()
            return
        }
        var time = timespec(tv_sec: 0, tv_nsec: 50_000)
        nanosleep(&time, nil)
    }
}
