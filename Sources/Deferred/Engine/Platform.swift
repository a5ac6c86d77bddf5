// The C library, for things that Swift's own libraries do not offer: who the current thread is, giving way to
// another thread, and writing a line to standard error.
internal import Synchronization

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

    /// A number that no other thread has or had. (`currentThread` may be another's when the thread has gone.)
    static var threadNumber: UInt32 {
        if let known = threadNumberSlot.value { return UInt32(UInt(bitPattern: known)) }
        let number = lastThreadNumber.add(1, ordering: .relaxed).newValue
        threadNumberSlot.value = UnsafeMutableRawPointer(bitPattern: UInt(number))
        return number
    }

    private static let lastThreadNumber = Atomic<UInt32>(0)
    private static let threadNumberSlot = ThreadSlot()

    /// What the current thread is called, "" if nothing.
    static var currentThreadName: String {
        #if canImport(Darwin)
        if pthread_main_np() != 0 { return "main thread" }
        return text { pthread_getname_np(pthread_self(), $0, $1) == 0 ? strlen($0) : 0 }
        #else
        // Its name has no way out of the C library that Swift can see. The link reads `PROCESS/task/THREAD`.
        let parts = text { readlink("/proc/thread-self", $0, $1) }.split(separator: "/")
        if parts.count == 3 && parts[0] == parts[2] { return "main thread" }
        return text { start, count in
            let file = open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return 0 }
            defer { close(file) }
            // Without the line break at its end.
            return read(file, start, count) - 1
        }
        #endif
    }

    /// What `fill` writes, and says the length of; "" if it can't.
    private static func text(_ fill: (UnsafeMutablePointer<CChar>, Int) -> Int) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            let count = fill(start, buffer.count)
            guard count > 0 else { return "" }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
        }
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

/// A pointer that each thread has of its own; nil until it sets one.
struct ThreadSlot: Sendable {
    private let key: pthread_key_t

    init() {
        var key = pthread_key_t()
        let failure = pthread_key_create(&key, nil)
        precondition(failure == 0, "no room for one more value of a thread's own")
        self.key = key
    }

    var value: UnsafeMutableRawPointer? {
        get { pthread_getspecific(key) }
        nonmutating set { pthread_setspecific(key, newValue) }
    }
}

/// How a thread waits for a lock that is held for a few nanoseconds: it spins, gives way, and in the end
/// sleeps, so that a holder of lower priority that lost its processor gets one.
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
