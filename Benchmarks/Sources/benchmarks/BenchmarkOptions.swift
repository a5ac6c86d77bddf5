import Comparing

/// The command-line options.
struct BenchmarkOptions {
    enum Mode {
        case compare
        case checkAllocations(String)
        case writeAllocations(String)
        case checkInstructions(String)
        case writeInstructions(String)
        case step
        case curves(String)
        case repeats(Int)
        case list
        case help
    }

    var mode = Mode.compare
    var isQuick = false
    var filters: [String] = []
    var values: [String] = []
    /// The names of the workloads to run; empty for all.
    var libraries: [Library] = []
    /// How many task-local values closures carry.
    var carriedCount = 0
    var markdown: String?
    var json: String?

    static let usage = """
        usage: benchmarks [options]
          Runs each workload with Deferred and its peers side by side and prints a report in Markdown.

          --quick                    fewer and shorter samples: under a minute
          --filter NAME[,NAME...]    only workloads of that name, or whose title contains it
          --value NAME[,NAME...]     only these values: int, 64, class
          --markdown FILE            the report into FILE as well
          --json FILE                every figure into FILE
          --library NAME[,NAME...]   only these contenders (by the beginning of the name; "deferred", "nio e")
          --list                     name the workloads
          --repeat COUNT             instead: so many iterations of each, untimed, for a profiler
          --curves FILE.svg          instead: draw cost against size, from 10 to 1,000,000
          --check-allocations FILE   instead: compare Deferred's exact allocation counts with the table in FILE;
                                     exit 1 if any has grown
          --write-allocations FILE   instead: write that table
          --check-instructions FILE  instead: compare Deferred's instructions an item, counted one by one on Linux,
                                     with the table in FILE; exit 1 if any has grown by more than 3 %
          --write-instructions FILE  instead: write that table
          --carry COUNT              with so many task-local values, up to 3, that closures carry
          --help
        """

    init(_ arguments: some Sequence<String>) throws {
        var remaining = Array(arguments)[...]
        while let argument = remaining.popFirst() {
            func value() throws -> String {
                guard let value = remaining.popFirst(), !value.hasPrefix("--") else {
                    throw InvalidArguments(description: "\(argument) needs a value")
                }
                return value
            }
            switch argument {
            case "--quick": isQuick = true
            case "--filter": filters += try value().split(separator: ",").map { $0.lowercased() }
            case "--value": values += try value().split(separator: ",").map { $0.lowercased() }
            case "--library": libraries += try value().split(separator: ",").map(Self.library)
            case "--repeat":
                let count = try value()
                guard let count = Int(count), count > 0 else {
                    throw InvalidArguments(description: "\(count) is not a number of iterations")
                }
                mode = .repeats(count)
            case "--carry":
                let count = try value()
                guard let count = Int(count), (0...3).contains(count) else {
                    throw InvalidArguments(description: "\(count) is not a number from 0 to 3")
                }
                carriedCount = count
            case "--markdown": markdown = try value()
            case "--json": json = try value()
            case "--list": mode = .list
            case "--curves": mode = .curves(try value())
            case "--check-allocations": mode = .checkAllocations(try value())
            case "--write-allocations": mode = .writeAllocations(try value())
            case "--check-instructions": mode = .checkInstructions(try value())
            case "--write-instructions": mode = .writeInstructions(try value())
            // Not in the usage: how this program calls itself to be counted.
            case "--step": mode = .step
            case "--help", "-h": mode = .help
            default: throw InvalidArguments(description: "unknown option \(argument)")
            }
        }
    }

    private static func library(_ name: some StringProtocol) throws -> Library {
        guard
            let library = Library.allCases.first(where: {
                $0.rawValue.lowercased().hasPrefix(name.lowercased())
            })
        else { throw InvalidArguments(description: "no library is called \(name)") }
        return library
    }

    /// Returns the selected workloads with the selected contenders.
    func select(from workloads: [Workload]) -> [Workload] {
        workloads.filter(selects).map { workload in
            libraries.isEmpty ? workload : workload.with(libraries)
        }
    }

    private func selects(_ workload: Workload) -> Bool {
        let name = workload.name.lowercased()
        let title = workload.title.lowercased()
        let payload = workload.payload.lowercased()
        return (filters.isEmpty || filters.contains { name == $0 || title.contains($0) })
            && (values.isEmpty || values.contains { payload.hasPrefix($0) })
    }
}
