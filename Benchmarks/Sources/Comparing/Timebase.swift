#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The clock by which a job or a sample is timed.
package enum Timebase: Sendable {
    /// Wall-clock time, for jobs that use several threads.
    case elapsed
    /// The processor time of the calling thread, for jobs that stay on it. Other processes do not affect it.
    case thread

    /// The current time, in nanoseconds.
    package var now: UInt64 {
        var time = timespec()
        clock_gettime(self == .elapsed ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
