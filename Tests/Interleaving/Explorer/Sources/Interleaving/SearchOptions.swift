import CInterleaving

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// The options of the command line.
public struct SearchOptions: Sendable {
    /// A way to choose schedules.
    public enum Mode: Sendable {
        case reduced
        case bounded(Int)
        case replay(String)

        /// Begins a search: `il_next` prepares its first schedule.
        public func begin(includesGlobals: Bool = false, stepped: (@convention(c) () -> Void)? = nil) {
            var config = il_config()
            config.includesGlobals = includesGlobals
            config.stepped = stepped
            switch self {
            case .reduced: config.mode = IL_REDUCED
            case .bounded(let bound): (config.mode, config.bound) = (IL_BOUNDED, CInt(bound))
            case .replay(let schedule):
                config.mode = IL_REPLAY
                return schedule.withCString {
                    config.replay = $0
                    il_begin(&config)
                }
            }
            il_begin(&config)
        }
    }

    /// Chooses the schedules.
    public var mode = Mode.bounded(1)
    /// Those to search, of all classes and scenarios.
    var names: [String] = []
    /// The time limit of one class, in seconds of the processor: as much is searched on a machine that does other work.
    var seconds = 10.0
    /// The greatest number of schedules of one program.
    public var limit = Int.max
    /// The greatest size of generated programs.
    var size = 6
    /// The seed of the first random program.
    var seed: UInt64?
    /// How many violations of a class are printed.
    var shown = 3
    var plantsFaults = false
    /// Whether all classes and scenarios are tried for a planted fault.
    var searchesEverywhere = false
    /// Whether the search goes on after a violation, and collects what is wrong with all.
    public var collectsReasons = false
    var plantedFault: Int?
    var onlyScenarios = false
    var onlyClasses = false
    var listsNames = false
    var showsUsage = false
    /// How many processes share the work.
    var jobs = 1
    /// Whether a search for planted faults begins where each was found before.
    var usesHints = true
    /// The processor time at which the time limit is reached.
    private var end = Double.infinity

    static let usage = """
        explore [OPTION...] [NAME...]    searches classes and scenarios: NAME, and NAME-…; all if none is named

          --bound N            every schedule with at most so many preemptions (1)
          --reduced            every order of dependent accesses (DPOR with sleep sets)
          --replay SCHEDULE    the schedule that a violation has printed, with its steps
          --size N             greatest number of links and operations of a generated program (6)
          --random SEED        random programs, which are larger, until the time limit
          --seconds N          time limit of one class, of the processor (10)
          --limit N            greatest number of schedules of one program
          --jobs N             searches in N processes (1)
          --show N             prints so many violations of a class (3)
          --scenarios          searches the scenarios only
          --classes            searches all but the scenarios
          --list               lists the names
          --fault N            switches planted fault N on
          --faults             searches for each planted fault, or that of --fault, with what finds it
          --unaided            does not begin at the program that is known to show a fault
          --everywhere         prints all that find each
          --reasons            prints all rules that a generated program breaks with each, until the time limit

        """

    /// Creates the options of a command line without arguments.
    public init() {}

    /// - Parameter switches: Further options, without values.
    init(_ arguments: [String], switches: [Explorer.Switch] = []) throws {
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
            case "--bound": mode = .bounded(try number(of: argument))
            case "--reduced": mode = .reduced
            case "--replay": mode = .replay(try value(of: argument))
            case "--size": size = try number(of: argument)
            case "--random": seed = try number(of: argument)
            case "--seconds": seconds = try number(of: argument)
            case "--limit": limit = try number(of: argument)
            case "--jobs": jobs = max(1, try number(of: argument))
            case "--show": shown = try number(of: argument)
            case "--scenarios": onlyScenarios = true
            case "--classes": onlyClasses = true
            case "--list": listsNames = true
            case "--help": showsUsage = true
            case "--fault": plantedFault = try number(of: argument)
            case "--faults": plantsFaults = true
            case "--unaided": usesHints = false
            case "--everywhere": searchesEverywhere = true
            case "--reasons": collectsReasons = true
            default:
                if let further = switches.first(where: { $0.name == argument }) {
                    further.action()
                    continue
                }
                guard !argument.hasPrefix("-") else { throw InvalidOption("there is no option \(argument)") }
                names.append(argument)
            }
        }
    }

    /// The classes and scenarios to search.
    func chosen(of all: [SearchedClass]) -> [SearchedClass] {
        all.filter { searched in
            if searched.isScenario ? onlyClasses : onlyScenarios { return false }
            return names.isEmpty
                || names.contains { $0 == searched.name || searched.name.hasPrefix($0 + "-") }
        }
    }

    /// Returns the options with a time limit that begins now.
    func begun() -> SearchOptions {
        var options = self
        options.end = Self.processorSeconds() + seconds
        return options
    }

    var isLate: Bool { Self.processorSeconds() > end }

    static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

struct InvalidOption: Error {
    let text: String

    init(_ text: String) { self.text = text }
}
