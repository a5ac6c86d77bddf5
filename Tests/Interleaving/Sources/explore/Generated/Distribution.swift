/// All ways to give threads so many calls, each one of some choices, up to the order of the threads.
///
/// Three threads with one call each have all schedules of two threads with the same calls, so calls are put in sequence
/// only where there are more than three.
struct Distribution {
    let choiceCount: Int
    /// The choices that two of more than two threads may make.
    var repeatable: Set<Int> = []
    /// Whether a thread may make the same choice twice, and any two threads the same.
    var repeatsChoices = false

    /// Returns the choices of each thread.
    func threads(_ count: Int) -> [[[Int]]] {
        var threads: [[Int]] = Array(repeating: [], count: min(3, count))
        var result: [[[Int]]] = []
        distribute(count, among: &threads, 0) { result.append($0) }
        return result
    }

    private func distribute(
        _ count: Int, among threads: inout [[Int]], _ thread: Int, _ body: ([[Int]]) -> Void
    ) {
        if thread == threads.count {
            if count == 0 { body(threads) }
            return
        }
        let rest = threads.count - thread - 1
        guard count - rest >= 1 else { return }
        for length in 1...(count - rest) where thread == 0 || length >= threads[thread - 1].count {
            for sequence in sequences(of: length) {
                if thread > 0 && precedes(sequence, threads[thread - 1]) { continue }
                let taken = Set(threads[..<thread].joined()).subtracting(repeatable)
                if !repeatsChoices, threads.count > 2, !taken.isDisjoint(with: sequence) { continue }
                threads[thread] = sequence
                distribute(count - length, among: &threads, thread + 1, body)
            }
        }
    }

    private func precedes(_ first: [Int], _ second: [Int]) -> Bool {
        first.count != second.count ? first.count < second.count : first.lexicographicallyPrecedes(second)
    }

    private func sequences(of length: Int) -> [[Int]] {
        if length == 0 { return [[]] }
        return sequences(of: length - 1).flatMap { start in
            (0..<choiceCount).filter { repeatsChoices || !start.contains($0) }.map { start + [$0] }
        }
    }
}
