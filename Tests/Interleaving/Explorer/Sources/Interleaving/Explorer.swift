import CInterleaving
import Foundation
import Instrumenting

/// The command line: searches classes of programs and scenarios, or for planted faults.
public struct Explorer {
    /// An option of the program's own.
    public struct Switch {
        let name: String
        let usage: String
        let action: () -> Void

        /// Creates an option without a value.
        public init(_ name: String, _ usage: String, _ action: @escaping () -> Void) {
            (self.name, self.usage, self.action) = (name, usage, action)
        }
    }

    /// Called before each run of a scenario. What it returns is called after the check of that run.
    nonisolated(unsafe) public static var aroundRun: () -> () -> Void = { {} }

    /// All but the scenarios.
    private let classes: [SearchedClass]
    private let faults: URL?
    private let switches: [Switch]
    private let warmUp: () -> Void

    /// - Parameters:
    ///   - classes: What is searched besides the scenarios that were defined.
    ///   - faults: The folder of the planted faults.
    ///   - switches: Further options.
    ///   - warmUp: Creates the objects that are created once, such as static properties.
    public init(
        classes: [SearchedClass] = [], faults: URL? = nil, switches: [Switch] = [],
        warmUp: @escaping () -> Void = {}
    ) {
        (self.classes, self.faults, self.switches, self.warmUp) = (classes, faults, switches, warmUp)
    }

    /// Does what the arguments of the process say, and ends the process.
    public func run() -> Never {
        let options: SearchOptions
        do {
            options = try SearchOptions(Array(CommandLine.arguments.dropFirst()), switches: switches)
        } catch {
            fail("\((error as? InvalidOption)?.text ?? "\(error)")\n\(usage)")
        }
        if options.showsUsage {
            print(usage, terminator: "")
            exit(0)
        }
        il_flush_lines()
        let all = classes + Scenario.all.map { SearchedClass($0) }
        let chosen = options.chosen(of: all)
        if chosen.isEmpty { fail("there is no class or scenario \(options.names.joined(separator: ", "))") }
        if options.listsNames {
            for searched in chosen { print(searched.name) }
            exit(0)
        }
        if options.plantsFaults { exit(searchFaults(options, all, chosen) ? 0 : 1) }
        if let fault = options.plantedFault { il_plant(CInt(fault)) }
        warmUp()
        if case .replay(let schedule) = options.mode {
            let named = chosen.first { options.names == [$0.name] }
            guard let searched = named ?? (chosen.count == 1 ? chosen[0] : nil) else {
                fail("--replay needs the name of one class or scenario")
            }
            replay(schedule, of: searched, options)
        }
        let search = Search(options: options)
        exit(inJobs(options.jobs, chosen.count) { search.run(chosen[$0]) } ? 0 : 1)
    }

    private var usage: String {
        SearchOptions.usage + switches.map { "  \(padded($0.name, 20)) \($0.usage)\n" }.joined()
    }

    private func fail(_ text: String) -> Never {
        print("explore: \(text)")
        exit(2)
    }

    private func searchFaults(_ options: SearchOptions, _ all: [SearchedClass], _ chosen: [SearchedClass])
        -> Bool
    {
        guard let folder = faults else { fail("Explorer(faults:) was given no folder of planted faults") }
        let known: [PlantedFault]
        do {
            known = try PlantedFault.all(in: folder)
        } catch {
            fail("\(error)")
        }
        let faults = known.filter { fault in
            if options.plantedFault.map({ $0 != fault.number }) ?? false { return false }
            if fault.finder == nil {
                if options.searchesEverywhere { return true }
                fail(
                    "planted fault \(fault.number) has no line “found by NAME”; --faults --fault \(fault.number) --everywhere prints what finds it"
                )
            }
            if case .search(let name, _, _, _) = fault.finder, !all.contains(where: { $0.name == name }) {
                fail(
                    "planted fault \(fault.number) is to be found by \(name), and there is no such class or scenario"
                )
            }
            if case .search = fault.finder { return true }
            return false
        }
        if faults.isEmpty {
            let what = options.plantedFault.map { "planted fault \($0)" } ?? "planted fault"
            fail("there is no \(what) to search for in \(folder.path)")
        }
        warmUp()
        let search = FaultSearch(options: options, classes: all)
        let areFound = inJobs(options.jobs, faults.count) { index in
            if options.collectsReasons {
                search.runReasons(faults[index])
            } else if options.searchesEverywhere {
                search.runEverywhere(faults[index], chosen)
            } else {
                return search.run(faults[index])
            }
            return true
        }
        if !options.collectsReasons, !options.searchesEverywhere {
            print("\(faults.count) planted faults: \(areFound ? "all" : "not all") found")
        }
        return areFound
    }

    private func replay(_ schedule: String, of searched: SearchedClass, _ options: SearchOptions) {
        for size in 1...options.size {
            searched.forEach(size) { first in
                Trace.print(schedule, of: first)
                let violation = first.judged(options).violation
                if let violation {
                    print("VIOLATED \(searched.name):\n\(violation.text)")
                } else {
                    print("\(searched.name): no violation")
                }
                exit(violation == nil ? 0 : 1)
            }
        }
    }

    /// Performs so many parts of the work, each in whichever process has time for it. Returns whether all returned true.
    private func inJobs(_ jobs: Int, _ count: Int, _ part: (Int) -> Bool) -> Bool {
        if jobs == 1 { return (0..<count).reduce(true) { part($1) && $0 } }
        return withoutActuallyEscaping(part) { part in
            var body: () -> Bool = {
                var isFine = true
                while true {
                    let next = Int(il_ticket())
                    if next >= count { return isFine }
                    isFine = part(next) && isFine
                    il_flush()
                }
            }
            return withUnsafeMutablePointer(to: &body) { pointer in
                il_in_processes(
                    CInt(jobs), { $0!.assumingMemoryBound(to: (() -> Bool).self).pointee() }, pointer)
            }
        }
    }
}
