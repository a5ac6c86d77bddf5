import AllocationCounter

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Which clock a sample is timed by.
enum Timebase {
    /// The processor time of the thread that runs the sample: what other programs do at the time does not
    /// count. For contenders that do all their work on that one thread.
    case thread
    /// The time that passes, for contenders that hand work to other threads.
    case elapsed

    fileprivate var clock: clockid_t {
        switch self {
        case .thread: CLOCK_THREAD_CPUTIME_ID
        case .elapsed: CLOCK_MONOTONIC
        }
    }
}

/// Times one sample, or counts what it allocates.
///
/// A contender calls `start()` when it has prepared what is not measured, and `stop()`, on the same thread,
/// when the measured part is over; what it does afterwards (checking, clearing away) is not measured either.
/// Started again, it goes on from where it stopped.
///
/// `@unchecked Sendable` is sound because a sample is handed as a whole to the one thread that runs it, and
/// the sampler waits for it before it reads.
final class Stopwatch: @unchecked Sendable {
    private let timebase: Timebase
    private let countsAllocations: Bool
    private var started: UInt64 = 0
    private(set) var nanoseconds: UInt64 = 0
    private(set) var counts = allocation_counts()

    init(_ timebase: Timebase, countsAllocations: Bool = false) {
        self.timebase = timebase
        self.countsAllocations = countsAllocations
        if countsAllocations { allocation_counting_reset() }
    }

    func start() {
        if countsAllocations { allocation_counting_start() }
        started = now()
    }

    func stop() {
        nanoseconds += now() - started
        if countsAllocations {
            allocation_counting_stop()
            counts = allocation_counting_read()
        }
    }

    private func now() -> UInt64 {
        var time = timespec()
        clock_gettime(timebase.clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
