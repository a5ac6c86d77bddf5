import AllocationCounter
import Foundation

/// Deferred's heap allocations for one iteration of each workload: exact, and the same on all machines with
/// the same word size and Swift version, so that an increase can fail a build.
struct AllocationTable: Codable {
    struct Entry: Codable, Equatable {
        let allocations: Double
        let bytes: Double
    }

    private var entries: [String: Entry]

    static func count(_ workloads: [Workload]) throws -> AllocationTable {
        guard allocation_counting_is_available() else {
            throw WrongResult(description: "allocations can be counted on Linux with glibc only")
        }
        guard MeasuredMachine.current.configuration == "release" else {
            throw WrongResult(description: "the table is for release builds: add -c release")
        }
        var entries: [String: Entry] = [:]
        for workload in workloads where workload.hasExactAllocations {
            guard let contender = workload.contenders.first(where: { $0.library == .deferred }),
                let counts = try AllocationsPerIteration(of: contender, in: workload)
            else { continue }
            entries["\(workload.name) \(workload.payload)"] =
                Entry(allocations: counts.allocations, bytes: counts.bytes)
        }
        return AllocationTable(entries: entries)
    }

    private init(entries: [String: Entry]) {
        self.entries = entries
    }

    init(json: String) throws {
        entries = try JSONDecoder().decode([String: Entry].self, from: Data(json.utf8))
    }

    var json: String {
        get throws {
            let lines = try entries.sorted { $0.key < $1.key }.map { name, entry in
                let encoder = JSONEncoder()
                encoder.outputFormatting = .sortedKeys
                return "  \"\(name)\": " + String(decoding: try encoder.encode(entry), as: UTF8.self)
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n}\n"
        }
    }

    /// Prints the differences. Returns false if a count has grown or is missing from the table.
    func check(against committed: AllocationTable) throws -> Bool {
        var isWell = true
        for (name, entry) in entries.sorted(by: { $0.key < $1.key }) {
            guard let before = committed.entries[name] else {
                print("\(name): not in the table")
                isWell = false
                continue
            }
            guard entry != before else { continue }
            let hasGrown = entry.allocations > before.allocations || entry.bytes > before.bytes
            print(
                "\(name): \(before.allocations) allocations of \(before.bytes) bytes became "
                    + "\(entry.allocations) of \(entry.bytes)\(hasGrown ? ": GROWN" : ": less; renew the table")"
            )
            if hasGrown { isWell = false }
        }
        print(isWell ? "no workload allocates more than the table says (\(entries.count) checked)" : "FAILED")
        return isWell
    }
}
