import CInterleaving
import Deferred

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// Ends with a message about the command line.
func fail(_ text: String) -> Never {
    print("explore: \(text)", terminator: "")
    exit(2)
}

let options: SearchOptions
do {
    options = try SearchOptions(Array(CommandLine.arguments.dropFirst()))
} catch let error as InvalidOption {
    fail("\(error.text)\n\(SearchOptions.usage)")
}

DeferredDiagnostics.setHandler { diagnostic in
    modelReports.append(ModelReport(diagnostic))
    switch diagnostic {
    case .unhandledFailure(let error, _): reports.append("unhandled:\(show(error))")
    case .alreadyFired: reports.append("alreadyFired")
    case .notFireable: reports.append("notFireable")
    case .unbalancedUnpause: reports.append("unbalancedUnpause")
    }
}
il_flush_lines()
defineAllScenarios()

if options.showsUsage {
    print(SearchOptions.usage, terminator: "")
    exit(0)
}
if options.listsClasses {
    for name in ProgramClass.all.map(\.name) + ObjectClass.all.map(\.name) { print(name) }
    exit(0)
}
let chosen = options.chosen(from: scenarios)
if options.generates && !options.plantsFaults {
    exit(GeneratedSearch(options).run() ? 0 : 1)
}
if options.listsScenarios && !options.plantsFaults {
    for scenario in chosen { print(scenario.name) }
    exit(0)
}
if chosen.isEmpty && !options.generates {
    fail("there is no scenario \(options.names.joined(separator: ", "))\n")
}
if options.plantsFaults {
    exit(FaultSearch(options).run() ? 0 : 1)
}
if let fault = options.plantedFault { il_plant(CInt(fault)) }
exit(SearchReport(options).search(chosen) ? 0 : 1)
