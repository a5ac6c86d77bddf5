import AllocationCounter
import Deferred
import Foundation
import StepCounter

/// Does things with n and with 4n of everything, and fails if a part takes more than 5 times as much (K1), or if memory
/// that n took is still there at the end (K2).
///
/// Counts steps: it has to be compiled with counters, in a folder of its own (see `.ci/shapes`). With `--time` it measures
/// time, and with `--memory` what is left on the heap; for these it is compiled as usual.
@main
struct Shapes {
    static func main() {
        DeferredDiagnostics.setHandler { _ in }
        let options = Options(Array(CommandLine.arguments.dropFirst()))
        if options.quantity == .steps, step_counting_read() < 0 {
            print("This program was compiled without counters; use .ci/shapes, --time or --memory")
            exit(2)
        }
        let shapes = allShapes.filter { options.selects($0) }
        let status = report(shapes.flatMap { measure($0, options.quantity, options.n) }, options)
        fflush(nil)
        // Not `exit`: that would write the counters into a file.
        _exit(status)
    }

    private struct Result {
        let shape: String
        let part: String
        let small: Int
        let large: Int
    }

    private static func measure(_ shape: Shape, _ quantity: Meter.Quantity, _ n: Int) -> [Result] {
        // The first time leaves out what the process needs once.
        _ = parts(of: shape, quantity, 8)
        return zip(parts(of: shape, quantity, n), parts(of: shape, quantity, 4 * n)).map { small, large in
            Result(shape: shape.name, part: small.name, small: small.amount, large: large.amount)
        }
    }

    private static func parts(of shape: Shape, _ quantity: Meter.Quantity, _ n: Int) -> [(
        name: String, amount: Int
    )] {
        func once() -> [(name: String, amount: Int)] {
            var meter = Meter(quantity)
            shape.run(n, &meter)
            if quantity == .memory { meter("left", {}) }
            return meter.parts
        }
        guard quantity == .time else {
            allocation_counting_start()
            defer { allocation_counting_stop() }
            return once()
        }
        // Of several runs the shortest: others use the processor, too.
        let (first, second) = (once(), once())
        return zip(first, zip(second, once())).map { ($0.name, min($0.amount, $1.0.amount, $1.1.amount)) }
    }

    /// Prints a table, and returns the process's exit status.
    private static func report(_ results: [Result], _ options: Options) -> Int32 {
        let n = options.n
        let unit = ["steps", "ns", "bytes"][
            options.quantity == .steps ? 0 : options.quantity == .time ? 1 : 2]
        print("| shape | part | \(unit) for each of \(n) | of \(4 * n) | times as much |")
        print("|---|---|---:|---:|---:|")
        var failed: [String] = []
        for result in results {
            // Known, and documented: each level's second cancel searches what the first has come by (C5).
            let isKnown = result.shape == "requests in one another, cancelled" && options.quantity != .memory
            let fails = !isKnown && options.fails(result.part, result.small, result.large)
            let each = [Double(result.small) / Double(n), Double(result.large) / Double(4 * n)]
            let ratio = Double(result.large) / Double(max(result.small, 1))
            let cells =
                [result.shape, result.part] + each.map { String(format: "%.1f", $0) }
                + [String(format: "%.2f", ratio) + (fails ? " **fails**" : "")]
            if fails || !options.showsFailuresOnly { print("| " + cells.joined(separator: " | ") + " |") }
            if fails { failed.append("\(result.shape): \(result.part)") }
        }
        for name in failed { print("FAILED: \(name)") }
        print("\(results.count - failed.count) passed, \(failed.count) failed")
        return failed.isEmpty && !results.isEmpty ? 0 : 1
    }
}
