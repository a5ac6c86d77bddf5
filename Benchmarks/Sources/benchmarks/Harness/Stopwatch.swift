import AllocationCounter
import Comparing
import InstructionCounter

/// Times one sample, or counts its allocations or instructions.
///
/// A contender prepares what is not measured, calls `start()`, does the work, and calls `stop()` on the same
/// thread; checking and cleaning up afterwards is not measured either. Another `start()` continues the
/// measurement.
///
/// Sound as `@unchecked Sendable`: a sample is passed to one thread, which runs it, and the sampler waits for
/// that thread before it reads.
final class Stopwatch: @unchecked Sendable {
    private let timebase: Timebase
    /// What is counted, beside the time.
    enum Counted {
        case nothing
        case allocations
        /// By the parent process, which it signals when to start and stop.
        case instructions
    }

    private let counted: Counted
    private var started: UInt64 = 0
    private(set) var nanoseconds: UInt64 = 0
    private(set) var counts = allocation_counts()

    init(_ timebase: Timebase, counts counted: Counted = .nothing) {
        self.timebase = timebase
        self.counted = counted
        if counted == .allocations { allocation_counting_reset() }
    }

    func start() {
        if nanoseconds == 0 { allocation_cache_fill() }
        if counted == .allocations { allocation_counting_start() }
        started = timebase.now
        if counted == .instructions { instruction_counting_mark(instruction_mark_start) }
    }

    func stop() {
        if counted == .instructions { instruction_counting_mark(instruction_mark_stop) }
        nanoseconds += timebase.now - started
        if counted == .allocations {
            allocation_counting_stop()
            counts = allocation_counting_read()
        }
    }
}
