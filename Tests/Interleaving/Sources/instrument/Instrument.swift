import Foundation
import PlantedFaults

/// Copies sources: `instrument MODULE FOLDER FILE...`. Each copy refers to its original in messages, traces
/// and `#fileID`, and has the faults planted in it that are switched on one at a time later.
@main
enum Instrument {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count > 2 else {
            throw InstrumentationFailure("usage: instrument MODULE FOLDER FILE...")
        }
        let module = arguments[0]
        let folder = URL(filePath: arguments[1], directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)

        var sources = try arguments.dropFirst(2).map(Source.init)
        let imports = sources.filter { !$0.isShadow }.reduce(into: Set()) { $0.formUnion($1.plainImports) }
        for index in sources.indices where sources[index].isShadow {
            sources[index].makePlain(imports)
        }
        try plant(PlantedFault.all.filter { $0.module == module }, in: &sources)
        for source in sources { try source.write(to: folder) }
    }

    private static func plant(_ faults: [PlantedFault], in sources: inout [Source]) throws {
        var problems: [String] = []
        for fault in faults {
            for change in fault.changes {
                let places = sources.map { $0.count(of: change.original) }
                if places.reduce(0, +) == 1, let index = places.firstIndex(of: 1) {
                    sources[index].plant(change)
                } else {
                    problems.append(
                        """
                        planted fault \(fault.number), \(fault.title): \(places.reduce(0, +)) places in \
                        \(fault.module) read
                        \(change.original)
                        """)
                }
            }
        }
        guard problems.isEmpty else {
            problems.append("Update them in Tests/Interleaving/Sources/PlantedFaults.")
            throw InstrumentationFailure(problems.joined(separator: "\n"))
        }
    }
}

struct InstrumentationFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
