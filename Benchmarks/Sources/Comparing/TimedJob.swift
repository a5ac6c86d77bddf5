/// An implementation of a job, to be timed against others.
package struct TimedJob {
    package let name: String
    /// Does the job once.
    let run: () async -> Void

    package init(name: String, run: @escaping () async -> Void) {
        self.name = name
        self.run = run
    }

    /// Runs the jobs alternately, round by round, so that all of them see the same load of the machine.
    /// Returns the median time of one run of each, in nanoseconds.
    package static func compare(_ jobs: [TimedJob], by timebase: Timebase, rounds: Int) async
        -> [Double]
    {
        var times: [[Double]] = jobs.map { _ in [] }
        for job in jobs { await job.run() }
        for round in 0..<rounds {
            for offset in jobs.indices {
                let index = (round + offset) % jobs.count
                let start = timebase.now
                await jobs[index].run()
                times[index].append(Double(timebase.now - start))
            }
        }
        return times.map { median($0) ?? 0 }
    }
}

/// Prints a row of a Markdown table. Call `titles` first.
package func row(_ cells: [String]) {
    print("| " + cells.joined(separator: " | ") + " |")
}

package func titles(_ cells: [String]) {
    row(cells)
    row(cells.map { _ in "---" })
}

package func figure(_ nanoseconds: Double) -> String {
    // Adding zero turns a rounded -0 into 0.
    nanoseconds < 10 ? String((nanoseconds * 10).rounded() / 10 + 0) : String(Int(nanoseconds.rounded()))
}
