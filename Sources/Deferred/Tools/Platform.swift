// The C library, for what Swift's own libraries do not offer: the identity of the current thread and its queue,
// yielding to another thread, powers, and writing a line to standard error.
internal import Dispatch
internal import Synchronization

#if canImport(CDispatch)
internal import CDispatch
#endif

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Android)
internal import Android
#else
#error("Deferred needs Dispatch and POSIX threads: see Documentation/Platforms.md")
#endif

package enum Platform {
    /// A number that no other running thread has. It is even.
    ///
    /// Sound: on all platforms a `pthread_t` is an address, some of them declare it as an integer.
    static var currentThread: UInt {
        let thread = pthread_self()
        return withUnsafeBytes(of: thread) { $0.load(as: UInt.self) }
    }

    /// The label of the queue that the current thread runs what is on, the main queue's on the main thread; "" if it
    /// has none.
    static var currentQueueLabel: String {
        #if canImport(CDispatch)
        let label = dispatch_queue_get_label(nil)
        #else
        let label = __dispatch_queue_get_label(nil)
        #endif
        return String(cString: label)
    }

    /// Whether this is the main queue, or the main thread outside of any queue. Known by the label: a mark of our own
    /// could be set only from off the queue.
    static var isOnMainQueue: Bool { currentQueueLabel == DispatchQueue.main.label }

    /// A number that no other thread has or had. (`currentThread` may be another thread's once this one has ended.)
    ///
    /// Sound: the slot has the number in place of a pointer, which is never dereferenced.
    package static var threadNumber: UInt32 {
        if let known = threadNumberSlot.value { return UInt32(UInt(bitPattern: known)) }
        let number = lastThreadNumber.add(1, ordering: .relaxed).newValue
        threadNumberSlot.value = UnsafeMutableRawPointer(bitPattern: UInt(number))
        return number
    }

    private static let lastThreadNumber = Atomic<UInt32>(0)
    private static let threadNumberSlot = ThreadSlot()

    /// The name of the current thread, "" if it has none.
    package static var currentThreadName: String {
        #if canImport(Darwin)
        if pthread_main_np() != 0 { return "main thread" }
        return text { pthread_getname_np(pthread_self(), $0, $1) == 0 ? strlen($0) : 0 }
        #else
        // Swift imports no function of the C library that returns it. The link reads `PROCESS/task/THREAD`.
        let parts = text { readlink("/proc/thread-self", $0, $1) }.split(separator: "/")
        if parts.count == 3 && parts[0] == parts[2] { return "main thread" }
        let name = text { start, count in
            let file = open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return 0 }
            defer { close(file) }
            // Without the line break at its end.
            return read(file, start, count) - 1
        }
        return workerName(name) ?? name
        #endif
    }

    #if !canImport(Darwin)
    /// The name of a worker thread of libdispatch, which names it by its queue. Linux keeps the last 15
    /// bytes: "com.apple.root.default-qos" becomes "oot.default-qos".
    private static func workerName(_ name: String) -> String? {
        if name.hasSuffix("qos.cooperative") { return "task worker" }
        if name.hasSuffix("qos.overcommit") { return "dispatch worker" }
        let qualities = [
            "maintenance", "background", "utility", "default", "user-initiated", "user-interactive",
        ]
        return qualities.first { "com.apple.root.\($0)-qos".suffix(15) == name }
            .map { "dispatch worker, \($0)" }
    }
    #endif

    /// Returns the text that `fill` writes into a buffer, and of which it returns the length; "" if it fails.
    ///
    /// Sound: `fill` writes no more than the size that it receives, and only what it has written is read.
    private static func text(_ fill: (UnsafeMutablePointer<CChar>, Int) -> Int) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            let count = fill(start, buffer.count)
            guard count > 0 else { return "" }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
        }
    }

    /// Infinite where that is too large for a `Double`.
    static func power(_ base: Double, _ exponent: Int) -> Double { pow(base, Double(exponent)) }

    /// Writes a line to standard error in one piece.
    ///
    /// Sound: the bytes are valid within `withUTF8`, and `write` reads no more than the count that it receives.
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

/// A pointer of which each thread has its own; `nil` until the thread sets it.
///
/// Sound: nothing is dereferenced here. The code that sets a pointer keeps its memory valid while it is set.
package struct ThreadSlot: Sendable {
    private let key: pthread_key_t

    package init() {
        var key = pthread_key_t()
        let failure = pthread_key_create(&key, nil)
        precondition(failure == 0, "no room for one more value of a thread's own")
        self.key = key
    }

    package var value: UnsafeMutableRawPointer? {
        get { pthread_getspecific(key) }
        nonmutating set { pthread_setspecific(key, newValue) }
    }
}

/// How a thread waits for a spin lock: it spins, then yields, then sleeps for 50 us at a time, so that a
/// preempted thread of lower priority that owns the lock gets a processor.
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
