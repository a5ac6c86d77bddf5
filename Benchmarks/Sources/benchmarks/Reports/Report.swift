import Foundation

/// Everything that one run found out.
struct Report: Codable {
    let machine: Machine
    let outcomes: [Outcome]
    let memoryGrowth: [MemoryGrowth]

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
        }
    }
}

/// Where and how it was measured.
struct Machine: Codable {
    let system: String
    let processors: Int
    /// "debug" or "release".
    let configuration: String

    static var current: Machine {
        #if arch(x86_64)
        let architecture = "x86-64"
        #elseif arch(arm64)
        let architecture = "arm64"
        #else
        let architecture = "other"
        #endif
        #if DEBUG
        let configuration = "debug"
        #else
        let configuration = "release"
        #endif
        let information = ProcessInfo.processInfo
        return Machine(
            system: "\(information.operatingSystemVersionString), \(architecture)",
            processors: information.activeProcessorCount,
            configuration: configuration)
    }
}
