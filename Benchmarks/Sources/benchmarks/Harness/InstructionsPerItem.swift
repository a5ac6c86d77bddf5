import Foundation
import InstructionCounter

/// The instructions that Deferred takes for an item of each workload, counted one by one in a child process.
///
/// The parent and the child select the same workloads from the same command line, and so agree on what each
/// sample is of.
enum InstructionsPerItem {
    /// This system does not let a process trace its child.
    struct NotPossible: Error {}

    /// In the parent: runs this program again with `--step` beside its arguments, and counts.
    static func count(_ workloads: [Workload]) throws -> [String: Int] {
        let counted = countable(workloads)
        var arguments = (CommandLine.arguments + ["--step"]).map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        var samples = [Int64](repeating: 0, count: 2 * counted.count)
        let taken = instruction_counting_run(arguments, &samples, Int32(samples.count))
        guard taken != -2 else { throw NotPossible() }
        guard taken == samples.count else {
            throw WrongResult(description: "the child process, whose instructions were to be counted, failed")
        }
        var counts: [String: Int] = [:]
        for (index, (name, contender)) in counted.enumerated() {
            // A longer run less a shorter one, which leaves out what a sample takes once.
            let items = contender.items * iterations(of: contender)
            counts[name] = (Int(samples[2 * index + 1] - samples[2 * index]) + items / 2) / items
        }
        return counts
    }

    /// In the child: takes the samples, a shorter and a longer one of each workload.
    static func step(_ workloads: [Workload]) throws {
        guard instruction_counting_allow() == 0 else { exit(EPERM) }
        for (name, contender) in countable(workloads) {
            let iterations = iterations(of: contender)
            do {
                // The first run leaves out what the process needs once.
                try contender.body(iterations, Stopwatch(.thread))
                for factor in 1...2 {
                    try contender.body(factor * iterations, Stopwatch(.thread, counts: .instructions))
                    instruction_counting_mark(instruction_mark_sample)
                }
            } catch {
                throw WrongResult(description: "\(name): \(error)")
            }
        }
    }

    /// Those that stay on one thread and always do the same, made small enough to be taken step by step.
    private static func countable(_ workloads: [Workload]) -> [(name: String, contender: Contender)] {
        workloads.filter(\.hasExactAllocations).compactMap { workload in
            guard let contender = workload.contenders.first(where: { $0.library == .deferred }),
                case .thread = contender.timebase
            else { return nil }
            return ("\(workload.name) \(workload.payload)", contender.limited(to: size))
        }
    }

    /// How many items are counted, or one iteration of those that have more.
    private static let size = 50

    private static func iterations(of contender: Contender) -> Int { max(1, size / contender.items) }
}
