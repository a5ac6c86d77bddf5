/// One way of doing a job, timed beside others.
struct Contender {
    let name: String
    /// Does the job once.
    let run: () async -> Void

    /// Takes turns with the others, round by round, so that all share the machine's moods, and gives each one's median
    /// time for one job, in nanoseconds.
    static func compare(_ contenders: [Contender], rounds: Int) async -> [Double] {
        var times: [[Double]] = contenders.map { _ in [] }
        for contender in contenders { await contender.run() }
        let clock = ContinuousClock()
        for round in 0..<rounds {
            for offset in contenders.indices {
                let index = (round + offset) % contenders.count
                let start = clock.now
                await contenders[index].run()
                times[index].append((clock.now - start) / .nanoseconds(1))
            }
        }
        return times.map { $0.sorted()[$0.count / 2] }
    }
}

/// Prints a row of a Markdown table; give the titles first.
func row(_ cells: [String]) {
    print("| " + cells.joined(separator: " | ") + " |")
}

func titles(_ cells: [String]) {
    row(cells)
    row(cells.map { _ in "---" })
}

func figure(_ nanoseconds: Double) -> String {
    nanoseconds < 10 ? String((nanoseconds * 10).rounded() / 10) : String(Int(nanoseconds.rounded()))
}
