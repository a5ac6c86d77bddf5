import Foundation

/// The instructions of Deferred for an item of each workload, which a build may exceed by some percent.
///
/// They depend on the processor's kind, the compiler and the C library, unlike allocations: a table is for one
/// kind of machine, which it names.
struct InstructionTable: Codable {
    /// Growth beyond this fails a check. The allocator takes another path now and then.
    static let tolerance = 1.03

    private let machine: String
    private let instructions: [String: Int]

    static func count(_ workloads: [Workload]) throws -> InstructionTable {
        guard MeasuredMachine.current.configuration == "release" else {
            throw WrongResult(description: "the table is for release builds: add -c release")
        }
        return InstructionTable(
            machine: MeasuredMachine.architectureAndCompiler,
            instructions: try InstructionsPerItem.count(workloads))
    }

    private init(machine: String, instructions: [String: Int]) {
        self.machine = machine
        self.instructions = instructions
    }

    init(json: String) throws {
        self = try JSONDecoder().decode(InstructionTable.self, from: Data(json.utf8))
    }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
        }
    }

    /// Prints what differs by more than the tolerance. False if anything has grown, or is in no table.
    func check(against committed: InstructionTable) -> Bool {
        guard machine == committed.machine else {
            print("not compared: the table is for \(committed.machine), and this is \(machine)")
            for (name, count) in instructions.sorted(by: { $0.key < $1.key }) { print("\(name): \(count)") }
            return true
        }
        var isWell = true
        for (name, count) in instructions.sorted(by: { $0.key < $1.key }) {
            guard let before = committed.instructions[name] else {
                print("\(name): not in the table")
                isWell = false
                continue
            }
            let ratio = Double(count) / Double(before)
            if ratio > Self.tolerance {
                print("\(name): \(before) instructions became \(count): GROWN")
                isWell = false
            } else if ratio < 1 / Self.tolerance {
                print("\(name): \(before) instructions became \(count): fewer; renew the table")
            }
        }
        print(
            isWell
                ? "no workload takes more instructions than the table says (\(instructions.count) checked)"
                : "FAILED")
        return isWell
    }
}

extension MeasuredMachine {
    /// What the number of instructions depends on.
    fileprivate static var architectureAndCompiler: String {
        #if compiler(>=6.4)
        let compiler = "Swift 6.4 or later"
        #elseif compiler(>=6.3)
        let compiler = "Swift 6.3"
        #else
        let compiler = "Swift 6.2"
        #endif
        return "\(architecture), \(compiler)"
    }
}
