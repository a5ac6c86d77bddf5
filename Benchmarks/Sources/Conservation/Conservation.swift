import Comparing
import Deferred
import Foundation

/// `swift run -c release Conservation [--elements N] [--filter TEXT]`: passes N elements through a queue, and N values
/// with `onUndelivered:`, in each way out: their consumers are cancelled, time out, lose a race, are released. Fails if
/// one was lost or doubled (V1, V2).
@main
struct Conservation {
    static func main() async {
        DeferredDiagnostics.setHandler { _ in }
        var arguments = Array(CommandLine.arguments.dropFirst())
        let count = arguments.takeValue(of: "--elements").map { Int($0) ?? 0 } ?? 1_000_000
        let filter = arguments.takeValue(of: "--filter") ?? ""
        guard arguments.isEmpty, count > 0 else {
            print("usage: Conservation [--elements N] [--filter TEXT]")
            exit(2)
        }
        var failed = 0
        func wants(_ name: String) -> Bool { filter.isEmpty || name.contains(filter) }
        print(
            "| queue | put | received | left | ended early | lost | seconds |\n|---|--:|--:|--:|--:|--:|--:|")
        for way in QueueWay.all where wants(way.name) {
            if !(await run(way.name, { await QueueRun(way, count).run() })) { failed += 1 }
        }
        print("\n| value | made | received | returned | | lost | seconds |\n|---|--:|--:|--:|--:|--:|--:|")
        for way in ValueWay.all where wants(way.name) {
            if !(await run(way.name, { await ValueRun(way, count).run() })) { failed += 1 }
        }
        print(failed == 0 ? "\nnothing was lost" : "\n\(failed) ways lost or doubled elements")
        fflush(nil)
        _exit(failed == 0 ? 0 : 1)
    }

    /// Prints the line of a way. Returns whether each element is in one place.
    private static func run(_ name: String, _ body: @Sendable () async -> Outcome) async -> Bool {
        let start = ContinuousClock.now
        let it = await body()
        let seconds = (ContinuousClock.now - start).components.seconds
        let isGood = it.received.merged(it.rest) == it.made && it.doubled == 0
        print(
            "| \(name) | \(it.made.count) | \(it.received.count) | \(it.rest.count) | \(it.endedEarly) | "
                + "\(it.made.count - it.received.count - it.rest.count)\(isGood ? "" : " **fails**") | \(seconds) |"
        )
        fflush(nil)
        return isGood
    }
}

/// What became of the elements of one way.
struct Outcome: Sendable {
    var made: Tally.Sum
    var received: Tally.Sum
    /// In the queue, or given back.
    var rest: Tally.Sum
    /// The consumers that ended without an element.
    var endedEarly = 0
    /// What was received or given back where it must not have been.
    var doubled = 0
}
