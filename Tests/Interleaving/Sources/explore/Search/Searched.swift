import CInterleaving

/// Something with threads, all of whose schedules are run and judged: a generated program, calls of an object, or a scenario.
protocol Searched: CustomStringConvertible {
    /// Whether accesses to static atomics, such as the flag that states whether a recording is active, are
    /// scheduling points.
    var includesGlobals: Bool { get }

    func judged(_ options: SearchOptions) -> Judgement
    /// Runs the schedule that is next.
    func runOnce()
    /// Returns the smallest of its kind that is violated as this one is.
    func smallest(_ options: SearchOptions) -> any Searched
}

extension Searched {
    var includesGlobals: Bool { false }
    func smallest(_ options: SearchOptions) -> any Searched { self }
}

/// All of one kind, by size.
struct SearchedClass {
    let name: String
    /// Calls the closure with each of that size, until it returns false.
    let forEach: (_ size: Int, _ body: (any Searched) -> Bool) -> Void
    /// Returns a larger one; nil where there are none.
    var random: ((_ seed: UInt64) -> ModelProgram)?
    var isScenario = false

    static func all() -> [SearchedClass] {
        ProgramClass.all.map { programs in
            SearchedClass(
                name: programs.name, forEach: { programs.forEachProgram(ofSize: $0, $1) },
                random: programs.links.isEmpty ? nil : { programs.randomProgram(seed: $0) })
        }
            + ObjectClass.all.map { object in
                SearchedClass(name: object.name) { size, body in
                    _ = size < 2 || object.histories(ofSize: size).allSatisfy(body)
                }
            }
            + scenarios.map { scenario in
                SearchedClass(name: scenario.name, forEach: { _ = $0 == 1 && $1(scenario) }, isScenario: true)
            }
    }
}

/// What has been seen of the schedules.
struct Judgement {
    var schedules = 0
    /// Whether schedules are left that were not run, or one that was run could not be judged.
    var isCutOff = false
    var isUndetermined = false
    var violation: Violation?

    struct Violation: CustomStringConvertible {
        var text: String
        var schedule = String(cString: il_schedule())
        var preemptions = Int(il_preemptions())

        var description: String { "with \(preemptions) preemptions, schedule \(schedule):\n\(text)" }
    }

    /// Calls `run` for each schedule, until one is violated or a limit is reached.
    ///
    /// - Parameter run: Returns how the run ended, and what is wrong with it.
    init(
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
                violation = Violation(text: fault)
                return
            }
        }
    }
}

/// Runs each under the scheduler.
func runThreads(_ threads: [() -> Void]) -> Int {
    var threads = threads
    return withUnsafeMutablePointer(to: &threads) { pointer in
        il_run(
            CInt(pointer.pointee.count),
            { context, index in context!.assumingMemoryBound(to: [() -> Void].self).pointee[Int(index)]() },
            pointer)
    }
}
