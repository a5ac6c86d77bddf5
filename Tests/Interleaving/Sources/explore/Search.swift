import CInterleaving
import Deferred
import DeferredTracing

/// A search through the schedules of one scenario.
struct Search {
    struct Result {
        var schedules: UInt64 = 0
        var redundant: UInt64 = 0
        var depth: UInt64 = 0
        var isComplete = false
        var seconds = 0.0
        var forcedSwitches: UInt64 = 0
        var failure: Failure?
    }

    struct Failure {
        let text: String
        let schedule: String
        let preemptions: Int
    }

    let scenario: Scenario
    let mode: SearchOptions.Mode
    let options: SearchOptions
    /// Called at each step.
    var stepped: (@convention(c) () -> Void)?

    /// Runs schedules until one fails, all have been run, or a limit is reached.
    func run() -> Result {
        il_set_name(scenario.name)
        // Objects that are created once, such as static properties, are created now.
        for _ in 0..<2 { _ = runProgram(inThreads: false) }
        begin(.bounded(1))
        for _ in 0..<(scenario.includesGlobals ? 1000 : 20) where il_next() {
            _ = runProgram(inThreads: true)
        }
        begin(mode, stepped)

        var result = Result()
        let clock = ContinuousClock()
        let start = clock.now
        result.isComplete = true
        while il_next() {
            let (status, failure) = runProgram(inThreads: true)
            result.schedules += 1
            if status == IL_REDUNDANT { result.redundant += 1 }
            result.depth = max(result.depth, il_step_count())
            if let failure {
                result.failure = Failure(
                    text: failure, schedule: String(cString: il_schedule()),
                    preemptions: Int(il_preemptions()))
                result.isComplete = false
                break
            }
            let isLate = result.schedules & 0x3f == 0 && (clock.now - start) / .seconds(1) > options.seconds
            if isLate || result.schedules >= options.limit {
                result.isComplete = false
                break
            }
        }
        result.seconds = (clock.now - start) / .seconds(1)
        result.forcedSwitches = il_forced_switches()
        return result
    }

    private func begin(_ mode: SearchOptions.Mode, _ stepped: (@convention(c) () -> Void)? = nil) {
        var config = il_config()
        config.includesGlobals = scenario.includesGlobals
        config.stepped = stepped
        switch mode {
        case .reduced: config.mode = IL_REDUCED
        case .bounded(let bound):
            config.mode = IL_BOUNDED
            config.bound = CInt(bound)
        case .random(let seed):
            config.mode = IL_RANDOM
            config.seed = seed
        case .replay(let schedule):
            config.mode = IL_REPLAY
            schedule.withCString {
                config.replay = $0
                il_begin(&config)
            }
            return
        }
        il_begin(&config)
    }

    /// Creates the scenario's program and runs it, under the scheduler or one thread after the other. Returns
    /// a description of the failure.
    private func runProgram(inThreads: Bool) -> (status: Int, failure: String?) {
        reports = []
        let recording = options.records ? DeferredDiagnostics.startRecording() : nil
        defer {
            recording?.stop()
            AwaitProbe.forgetAll()
        }
        let atomics = il_cells_alive()
        var status = IL_ENDED
        var failure: String?
        do {
            let program = scenario.makeProgram()
            if inThreads {
                status = Self.runThreads(program.threads)
            } else {
                for thread in program.threads { thread() }
            }
            if status == IL_STUCK {
                return (status, il_failure().map { String(cString: $0) } ?? "no thread can go on")
            }
            failure = program.check()
        }
        AwaitProbe.forgetAll()
        failure = failure ?? il_failure().map { String(cString: $0) }
        let leaked = il_cells_alive() - atomics
        if failure == nil, leaked != 0 { failure = "leaked: \(leaked) atomics are left" }
        return (status, failure)
    }

    /// Runs each under the scheduler.
    static func runThreads(_ threads: [() -> Void]) -> Int {
        var threads = threads
        return withUnsafeMutablePointer(to: &threads) { pointer in
            il_run(
                CInt(pointer.pointee.count),
                { context, index in
                    context!.assumingMemoryBound(to: [() -> Void].self).pointee[Int(index)]()
                }, pointer)
        }
    }
}
