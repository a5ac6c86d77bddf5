import CInterleaving
import Deferred

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// Ends with a message about the command line.
func fail(_ text: String) -> Never {
    print("explore: \(text)")
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
    case .alreadySettled: reports.append("alreadySettled")
    case .notCompletable: reports.append("notCompletable")
    case .unbalancedUnpause: reports.append("unbalancedUnpause")
    }
}
il_flush_lines()
defineChainsScenarios()
defineCoordinationScenarios()
defineMulticastScenarios()
defineAnswersScenarios()

if options.showsUsage {
    print(SearchOptions.usage, terminator: "")
    exit(0)
}
if options.plantsFaults { exit(FaultSearch(options).run() ? 0 : 1) }
let chosen = options.chosen()
if chosen.isEmpty { fail("there is no class or scenario \(options.names.joined(separator: ", "))") }
if options.listsNames {
    for searched in chosen { print(searched.name) }
    exit(0)
}
if let fault = options.plantedFault { il_plant(CInt(fault)) }
if case .replay(let schedule) = options.mode {
    Search.warmUp()
    for size in 1...options.size {
        chosen[0].forEach(size) { first in
            Trace.print(schedule, of: first)
            exit(0)
        }
    }
}
exit(Search(options).run() ? 0 : 1)
