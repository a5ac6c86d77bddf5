import AllocationCounter
import Comparing
import StepCounter

/// Something of which there are n, that is set up, operated on and released; each part is measured alone.
struct Shape: Sendable {
    let name: String
    /// Does it with n. The parts that are to be measured are closures that it passes to the meter.
    let run: @Sendable (_ n: Int, _ meter: inout Meter) -> Void

    init(_ name: String, _ run: @escaping @Sendable (Int, inout Meter) -> Void) {
        self.name = name
        self.run = run
    }
}

/// In which order n things are taken.
enum Order: String, CaseIterable {
    case firstToLast = "first to last"
    case lastToFirst = "last to first"
    case random

    func of(_ count: Int) -> [Int] {
        switch self {
        case .firstToLast: return Array(0..<count)
        case .lastToFirst: return (0..<count).reversed()
        case .random:
            var generator = Generator()
            return (0..<count).shuffled(using: &generator)
        }
    }

    /// The same numbers in each run.
    private struct Generator: RandomNumberGenerator {
        private var state: UInt64 = 88_172_645_463_325_252

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }
}

/// Measures the parts of a shape.
struct Meter {
    enum Quantity {
        /// How often functions, loops and branches are entered, and what is moved in memory and taken from the heap.
        case steps
        /// The processor time of this thread, in nanoseconds.
        case time
        /// The bytes on the heap at the end of a part, less those at the beginning of the shape.
        case memory
    }

    /// Each part, and what was measured.
    private(set) var parts: [(name: String, amount: Int)] = []
    private let quantity: Quantity
    private let before: Int64

    init(_ quantity: Quantity) {
        self.quantity = quantity
        parts.reserveCapacity(16)
        before = allocation_counting_read().live
    }

    @discardableResult
    mutating func callAsFunction<R>(_ part: String, _ body: () -> R) -> R {
        let result: R
        let amount: Int
        switch quantity {
        case .steps:
            let (before, bytes) = (step_counting_read(), allocation_counting_read().bytes)
            result = body()
            // New memory is filled, 64 bytes in a step.
            let filled = (allocation_counting_read().bytes - bytes) / 64
            amount = Int(step_counting_read() - before + filled)
        case .time:
            let start = Timebase.thread.now
            result = body()
            amount = Int(Timebase.thread.now - start)
        case .memory:
            result = body()
            amount = Int(allocation_counting_read().live - before)
        }
        parts.append((part, amount))
        return result
    }
}
