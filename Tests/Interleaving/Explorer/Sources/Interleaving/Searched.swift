import CInterleaving
import Foundation

/// Something with threads, all of whose schedules are run and judged: a generated program, calls of an object, or a scenario.
public protocol Searched: CustomStringConvertible {
    /// Whether accesses to static atomics, such as the flag that states whether a recording is active, are
    /// scheduling points.
    var includesGlobals: Bool { get }

    func judged(_ options: SearchOptions) -> Judgement
    /// Runs the schedule that is next.
    func runOnce()
    /// Returns the smallest of its kind that is violated as this one is.
    func smallest(_ options: SearchOptions) -> any Searched
    /// How much there is of it.
    var size: Int { get }
}

extension Searched {
    /// Returns false.
    public var includesGlobals: Bool { false }
    /// Returns 1.
    public var size: Int { 1 }
    /// Returns this one.
    public func smallest(_ options: SearchOptions) -> any Searched { self }
}

/// All of one kind, by size.
public struct SearchedClass {
    /// Names it on the command line.
    public let name: String
    /// Calls the closure with each of that size, until it returns false.
    let forEach: (_ size: Int, _ body: (any Searched) -> Bool) -> Void
    /// Returns a larger one; nil where there are none.
    let random: ((_ seed: UInt64) -> any Searched)?
    let isScenario: Bool

    /// Creates a class of what `forEach` calls its closure with.
    public init(
        _ name: String, random: ((_ seed: UInt64) -> any Searched)? = nil,
        forEach: @escaping (_ size: Int, _ body: (any Searched) -> Bool) -> Void
    ) {
        (self.name, self.forEach, self.random, isScenario) = (name, forEach, random, false)
    }

    init(_ scenario: Scenario) {
        name = scenario.name
        forEach = { _ = $0 == 1 && $1(scenario) }
        random = nil
        isScenario = true
    }
}

/// What has been seen of the schedules.
public struct Judgement {
    /// Counts those that were run.
    public private(set) var schedules = 0
    /// Whether schedules are left that were not run.
    public var isCutOff = false
    /// Describes the first schedule that was not permitted.
    public var violation: Violation?
    /// Returns the rules that were broken: in all schedules, if ``SearchOptions/collectsReasons`` is set.
    public private(set) var reasons: Set<String> = []

    /// A schedule that is not permitted.
    public struct Violation: CustomStringConvertible {
        /// Says what was seen.
        public var text: String
        /// Names the thread of each step, by a digit.
        public let schedule = String(cString: il_schedule())
        /// Counts how often a thread was stopped that could have gone on.
        public let preemptions = Int(il_preemptions())

        /// Describes the run that has just ended.
        public init(text: String) { self.text = text }

        /// Describes it, with its schedule.
        public var description: String {
            let noun = preemptions == 1 ? "preemption" : "preemptions"
            return "with \(preemptions) \(noun), schedule \(schedule):\n\(text)"
        }
    }

    /// Calls `run` for each schedule, until one is violated or a limit is reached.
    ///
    /// - Parameter run: Returns how the run ended, and what is wrong with it, of which the first line names the rules that were
    ///   broken, separated by semicolons.
    public init(
        _ options: SearchOptions, limit: Int = .max, includesGlobals: Bool = false,
        _ run: () -> (status: Int, fault: String?)
    ) {
        options.mode.begin(includesGlobals: includesGlobals)
        while il_next() {
            isCutOff = schedules >= min(limit, options.limit) || schedules & 63 == 63 && options.isLate
            if isCutOff { return }
            let (status, fault) = run()
            if status == IL_REDUNDANT { continue }
            schedules += 1
            if let fault {
                violation = violation ?? Violation(text: fault)
                if !options.collectsReasons { return }
                reasons.formUnion((fault.split(separator: "\n").first ?? "").components(separatedBy: "; "))
            }
        }
    }
}

/// Runs each under the scheduler.
public func runThreads(_ threads: [() -> Void]) -> Int {
    var threads = threads
    return withUnsafeMutablePointer(to: &threads) { pointer in
        il_run(
            CInt(pointer.pointee.count),
            { context, index in context!.assumingMemoryBound(to: [() -> Void].self).pointee[Int(index)]() },
            pointer)
    }
}
