import Comparing
import Foundation

@main
enum Benchmarks {
    static func main() {
        do {
            let options = try BenchmarkOptions(CommandLine.arguments.dropFirst())
            CarriedKeys.carry(options.carriedCount)
            exit(try CarriedKeys.bound { try run(options) } ? 0 : 1)
        } catch let error as InvalidArguments {
            note("benchmarks: \(error)\n\(BenchmarkOptions.usage)")
            exit(2)
        } catch {
            note("benchmarks: \(error)")
            exit(1)
        }
    }

    /// Runs the command; returns false to end the program with status 1.
    private static func run(_ options: BenchmarkOptions) throws -> Bool {
        let workloads = options.select(from: Catalogue.all())
        guard !workloads.isEmpty else {
            throw InvalidArguments(description: "no workload matches the filter")
        }
        switch options.mode {
        case .help:
            print(BenchmarkOptions.usage)
        case .list:
            for workload in workloads { print("\(workload.name) (\(workload.payload)): \(workload.title)") }
        case .compare:
            try compare(workloads, options)
        case .repeats(let count):
            for workload in workloads {
                for contender in workload.contenders {
                    try benchmarks.run(contender, count, Stopwatch(contender.timebase), of: workload)
                }
            }
        case .curves(let file):
            try write(CurveDrawing(panels: try Curves.measure()).svg, to: file)
        case .writeAllocations(let file):
            try write(try AllocationTable.count(workloads).json, to: file)
        case .checkAllocations(let file):
            let committed = try AllocationTable(json: try String(contentsOfFile: file, encoding: .utf8))
            return try AllocationTable.count(workloads).check(against: committed)
        case .writeInstructions(let file):
            try write(try InstructionTable.count(workloads).json, to: file)
        case .checkInstructions(let file):
            let committed = try InstructionTable(json: try String(contentsOfFile: file, encoding: .utf8))
            do {
                return try InstructionTable.count(workloads).check(against: committed)
            } catch is InstructionsPerItem.NotPossible {
                print("not checked: this system does not let a process trace its child")
            }
        case .step:
            try InstructionsPerItem.step(workloads)
        }
        return true
    }

    private static func compare(_ workloads: [Workload], _ options: BenchmarkOptions) throws {
        let sampler = options.isQuick ? Sampler.quick : .full
        var growth: [MemoryGrowth] = []
        if options.filters.isEmpty && options.libraries.isEmpty && options.values.isEmpty {
            note("memory of a long recursion")
            growth = try MemoryGrowth.measure(longest: options.isQuick ? 1_000_000 : 10_000_000)
        }
        var outcomes: [WorkloadResult] = []
        for (index, workload) in workloads.enumerated() {
            note("[\(index + 1)/\(workloads.count)] \(workload.name) \(workload.title), \(workload.payload)")
            outcomes.append(try sampler.measure(workload))
        }
        let report = BenchmarkReport(machine: .current, outcomes: outcomes, memoryGrowth: growth)
        print(report.markdown)
        if let file = options.markdown { try write(report.markdown + "\n", to: file) }
        if let file = options.json { try write(try report.json, to: file) }
    }
}

/// Prints a message on standard error.
func note(_ line: String) {
    FileHandle.standardError.write(Data((line + "\n").utf8))
}

private func write(_ text: String, to file: String) throws {
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    note("written: \(file)")
}
