import AllocationCounter
import Comparing
import Deferred
import Foundation

/// `swift run -c release Loops [--rounds N] [--filter TEXT]`: does one thing again and again, beside things that live as
/// long as the program, and fails if memory grows (K2). With `day N`, serves N requests in virtual time, and fails if
/// memory, or what a request takes, is not the same at the end as at the beginning.
@main
struct Loops {
    static func main() async {
        DeferredDiagnostics.setHandler { _ in }
        var arguments = Array(CommandLine.arguments.dropFirst())
        let isGood: Bool
        if let count = arguments.takeValue(of: "day") {
            isGood = Day(count: Int(count) ?? 0).run()
        } else {
            let rounds = Int(arguments.takeValue(of: "--rounds") ?? "20000") ?? 20_000
            let filter = arguments.takeValue(of: "--filter") ?? ""
            guard arguments.isEmpty else {
                print("usage: Loops [--rounds N] [--filter TEXT] | Loops day N")
                exit(2)
            }
            isGood = await allGrowNothing(
                allLoops.filter { filter.isEmpty || $0.name.contains(filter) }, rounds)
        }
        fflush(nil)
        _exit(isGood ? 0 : 1)
    }

    private static func allGrowNothing(_ loops: [Loop], _ rounds: Int) async -> Bool {
        guard allocation_counting_is_available() else {
            print("the allocator cannot be counted here")
            return true
        }
        allocation_counting_start()
        print("| loop | bytes a round |\n|---|---:|")
        var failed = 0
        for loop in loops {
            for _ in 0..<2000 { await loop.body() }
            let before = await restingLive()
            for _ in 0..<rounds { await loop.body() }
            let growth = Double(await restingLive() - before) / Double(rounds)
            // What a table, a thread or the allocator keeps for a while is less.
            let fails = growth > 4 && growth * Double(rounds) > 200_000
            print("| \(loop.name) | \(String(format: "%.2f", growth + 0))\(fails ? " **fails**" : "") |")
            if fails { failed += 1 }
        }
        print("\n\(loops.count - failed) passed, \(failed) failed")
        return failed == 0 && !loops.isEmpty
    }

    /// The bytes on the heap, once other threads have nothing left to do.
    private static func restingLive() async -> Int64 {
        var last = allocation_counting_read().live
        for _ in 0..<200 {
            try? await Task.sleep(for: .milliseconds(2))
            let now = allocation_counting_read().live
            if abs(now - last) < 256 { return now }
            last = now
        }
        return last
    }
}

struct Loop: Sendable {
    let name: String
    let body: @Sendable () async -> Void

    init(_ name: String, _ body: @escaping @Sendable () async -> Void) {
        self.name = name
        self.body = body
    }
}
