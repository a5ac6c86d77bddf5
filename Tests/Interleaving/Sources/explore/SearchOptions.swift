import CInterleaving
import Deferred

/// The options of the command line.
struct SearchOptions {
    /// A way to choose schedules.
    enum Mode {
        case reduced
        case bounded(Int)
        case random(UInt64)
        case replay(String)
    }

    var modes: [Mode] = []
    /// Prefixes of the names of scenarios; all if there are none.
    var names: [String] = []
    /// The time limit of one search, in seconds.
    var seconds = 10.0
    /// The greatest number of schedules of one search.
    var limit = UInt64.max
    /// Searches while the diagnostics are being recorded.
    var records = false
    var plantsFaults = false
    /// Whether all scenarios are tried for a planted fault, or all classes.
    var searchesEverywhere = false
    var plantedFault: Int?
    /// Searches generated programs; the names are those of classes.
    var generates = false
    /// The greatest size of generated programs.
    var size = 6
    /// How many violations of a class are printed.
    var shown = 3
    var listsScenarios = false
    var listsClasses = false
    var showsUsage = false
    var isQuiet = false
    /// The part of the scenarios that this process searches: part `index` of `count`.
    var part = (index: 0, count: 1)

    static let usage = """
        explore [OPTION...] [NAME...]    searches the scenarios whose names begin with NAME

          --reduced            every order of dependent accesses (DPOR with sleep sets): the default
          --bounds 0,1,2       every schedule with at most so many preemptions, the smallest number first
          --random SEED        schedules at random, until the time limit
          --replay SCHEDULE    the schedule that a failure has printed
          --seconds N          time limit of one search (10); of the processor, for generated programs
          --limit N            greatest number of schedules of one search
          --record             searches while a recording is active
          --part I/N           the Ith of N parts of the scenarios, from 1 on
          --quiet              prints failures and a summary only
          --generate           searches generated programs, compared with the model; NAME is the name of a class
          --size N             greatest number of links and operations of a generated program (6)
          --show N             prints so many violations of a class (3)
          --list               lists the scenarios; with --generate, programs; with --faults, what finds each
          --classes            lists the classes of generated programs, and of objects
          --fault N            switches planted fault N on
          --faults             searches for each planted fault, or that of --fault, with the scenario that finds it;
                               fails unless each is found
          --everywhere         prints all scenarios that find each; with --generate, all classes

        """

    init(_ arguments: [String]) throws {
        var rest = arguments.makeIterator()
        func value(of option: String) throws -> String {
            guard let value = rest.next() else { throw InvalidOption("\(option) needs a value") }
            return value
        }
        func number<T: LosslessStringConvertible>(of option: String) throws -> T {
            let text = try value(of: option)
            guard let number = T(text) else { throw InvalidOption("\(option): \(text) is no number") }
            return number
        }
        while let argument = rest.next() {
            switch argument {
            case "--reduced": modes.append(.reduced)
            case "--bounds":
                for text in try value(of: argument).split(separator: ",") {
                    guard let bound = Int(text) else { throw InvalidOption("--bounds: \(text) is no number") }
                    modes.append(.bounded(bound))
                }
            case "--random": modes.append(.random(try number(of: argument)))
            case "--replay": modes.append(.replay(try value(of: argument)))
            case "--seconds": seconds = try number(of: argument)
            case "--limit": limit = try number(of: argument)
            case "--record": records = true
            case "--part": part = try Self.part(value(of: argument))
            case "--quiet": isQuiet = true
            case "--generate": generates = true
            case "--size": size = try number(of: argument)
            case "--show": shown = try number(of: argument)
            case "--list": listsScenarios = true
            case "--classes": listsClasses = true
            case "--help": showsUsage = true
            case "--fault": plantedFault = try number(of: argument)
            case "--faults": plantsFaults = true
            case "--everywhere": searchesEverywhere = true
            default:
                guard !argument.hasPrefix("-") else { throw InvalidOption("there is no option \(argument)") }
                names.append(argument)
            }
        }
        if modes.isEmpty { modes = [.reduced] }
    }

    private static func part(_ text: String) throws -> (index: Int, count: Int) {
        let numbers = text.split(separator: "/").compactMap { Int($0) }
        guard numbers.count == 2, 1...max(1, numbers[1]) ~= numbers[0] else {
            throw InvalidOption("--part: \(text) is not I/N")
        }
        return (numbers[0] - 1, numbers[1])
    }

    /// The scenarios to search.
    func chosen(from all: [Scenario]) -> [Scenario] {
        let named = all.filter { scenario in
            names.isEmpty || names.contains { scenario.name.hasPrefix($0) }
        }
        return named.enumerated().filter { $0.offset % part.count == part.index }.map(\.element)
    }
}

struct InvalidOption: Error {
    let text: String

    init(_ text: String) { self.text = text }
}
