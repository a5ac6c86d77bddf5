import Foundation

/// What a job is timed by.
package enum Timebase {
    /// The time that passes, for jobs on several threads.
    case elapsed
    /// The processor time of the calling thread, for jobs that stay on it: what else the machine does doesn't
    /// count.
    case thread

    package var now: Double {
        var time = timespec()
        clock_gettime(self == .elapsed ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

/// One way of doing a job, timed beside others.
package struct Contender {
    let name: String
    /// Does the job once.
    let run: () async -> Void

    package init(name: String, run: @escaping () async -> Void) {
        self.name = name
        self.run = run
    }

    /// Takes turns with the others, round by round, so that all share the machine's moods, and gives each
    /// one's median time for one job, in nanoseconds.
    package static func compare(_ contenders: [Contender], by timebase: Timebase, rounds: Int) async
        -> [Double]
    {
        var times: [[Double]] = contenders.map { _ in [] }
        for contender in contenders { await contender.run() }
        for round in 0..<rounds {
            for offset in contenders.indices {
                let index = (round + offset) % contenders.count
                let start = timebase.now
                await contenders[index].run()
                times[index].append(timebase.now - start)
            }
        }
        return times.map { $0.sorted()[$0.count / 2] }
    }
}

/// Prints a row of a Markdown table; give the titles first.
package func row(_ cells: [String]) {
    print("| " + cells.joined(separator: " | ") + " |")
}

package func titles(_ cells: [String]) {
    row(cells)
    row(cells.map { _ in "---" })
}

package func figure(_ nanoseconds: Double) -> String {
    // Adding zero makes a rounded -0 what it is.
    nanoseconds < 10 ? String((nanoseconds * 10).rounded() / 10 + 0) : String(Int(nanoseconds.rounded()))
}
