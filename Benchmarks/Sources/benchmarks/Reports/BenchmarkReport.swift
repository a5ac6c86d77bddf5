import Foundation

/// The results of one run.
struct BenchmarkReport: Codable {
    let machine: MeasuredMachine
    let outcomes: [WorkloadResult]
    let memoryGrowth: [MemoryGrowth]

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
        }
    }
}

/// The machine and build that were measured.
struct MeasuredMachine: Codable {
    let system: String
    let processors: Int
    /// "debug" or "release".
    let configuration: String

    static var architecture: String {
        #if arch(x86_64)
        "x86-64"
        #elseif arch(arm64)
        "arm64"
        #else
        "other"
        #endif
    }

    static var current: MeasuredMachine {
        #if DEBUG
        let configuration = "debug"
        #else
        let configuration = "release"
        #endif
        let information = ProcessInfo.processInfo
        return MeasuredMachine(
            system: "\(information.operatingSystemVersionString), \(architecture)",
            processors: information.activeProcessorCount,
            configuration: configuration)
    }
}
