import CInterleaving
import Deferred
import Interleaving

/// The diagnostics that the run has reported, with lines.
nonisolated(unsafe) var modelReports: [ModelReport] = []

/// What is seen of one run of a program: what the contract decides, and nothing that it leaves to schedules.
struct Observation: Hashable {
    /// The outcome of each Deferred at the end, while handles to it are left.
    private(set) var outcomes: [Int] = []
    private(set) var results: [ModelOutcome?] = []
    /// The callbacks of each Deferred, in the order in which they ran (F4).
    private(set) var callbacks: [Int: [Int]] = [:]
    /// The callbacks that had run of the Deferred above that of a callback (F4).
    private(set) var callbacksAbove: [Int: [Int]] = [:]
    /// The callbacks that had run when a finalizer ran (Z1).
    private var beforeFinalizers: [Int: Set<Int>] = [:]
    private(set) var events: [ModelEvent] = []
    private var reports: [ModelReport] = []
    /// What is wrong in any run.
    private(set) var fault = ""

    /// Runs a program on the library under the scheduler.
    static func ofEngine(
        _ program: ModelProgram
    ) -> (observation: Observation, order: RealTimeOrder, status: Int) {
        modelReports = []
        let recording = startRecording()
        defer { recording?.stop() }
        let cells = il_cells_alive()
        var observation = Observation()
        var order = RealTimeOrder()
        var status = IL_ENDED
        do {
            let machine = EngineMachine()
            machine.pass = { il_point(nil, IL_YIELD) }
            status = observation.run(program, Interpreter(machine), &order) { modelReports }
            if machine.liveClosures != 0 {
                observation.fault += "\(machine.liveClosures) closures are retained "
            }
            if status == IL_ENDED, machine.hasTimers { observation.fault += "a time limit is still set " }
        }
        AwaitProbe.forgetAll()
        if status == IL_STUCK { observation.fault += "no thread can go on " }
        if let failure = il_failure() { observation.fault += String(cString: failure) }
        if status != IL_STUCK, il_cells_alive() != cells { observation.fault += "leaked" }
        return (observation, order, status)
    }

    /// Runs a program on the model under the scheduler.
    static func ofModel(
        _ program: ModelProgram, _ guide: Guide? = nil
    ) -> (observation: Observation, order: RealTimeOrder, undetermined: String?) {
        let model = Model()
        model.pass = { if guide?.isLost != true { il_point_references(IL_WRITE) } }
        model.choose = { guide?.isLost != true ? Int(il_choose(CInt($0))) : 0 }
        model.currentThread = { Int(il_thread()) }
        model.releasesHandles = program.releasesHandles
        model.pauses = program.pauses
        model.hasThreads = true
        model.isRecorded = recordsRuns
        model.didSettle = { guide?.settle($0, $1) }
        var observation = Observation()
        var order = RealTimeOrder()
        _ = observation.run(program, Interpreter(model), &order, guide) { model.collectReports() }
        defer { model.forget() }
        return (observation, order, model.undetermined)
    }

    private mutating func run<M: Machine>(
        _ program: ModelProgram, _ interpreter: Interpreter<M>, _ order: inout RealTimeOrder,
        _ guide: Guide? = nil, reported: () -> [ModelReport]
    ) -> Int {
        interpreter.logged = { guide?.add($0) }
        interpreter.ordered = { [unowned interpreter] target, callback in
            let (callbacks, above) = (
                interpreter.consumersThatRan[target], interpreter.consumersAbove[callback]
            )
            guide?.add(callbacks ?? [], above: above, of: target)
        }
        interpreter.perform(program.steps)
        interpreter.sharesHandles = program.releasesHandles
        let status = withUnsafeMutablePointer(to: &order) { order in
            runThreads(
                program.threads.enumerated().map { thread, actions in
                    {
                        for (index, action) in actions.enumerated() {
                            interpreter.machine.pass()
                            guide?.begin(thread, index, order.pointee)
                            order.pointee.begin(thread, index)
                            interpreter.perform(action)
                            order.pointee.end(thread, index)
                        }
                    }
                })
        }
        if status != IL_ENDED { return status }
        for id in interpreter.handles.keys.sorted() {
            outcomes.append(id)
            results.append(interpreter.machine.look(interpreter.handles[id]!))
        }
        interpreter.releaseEverything()
        callbacks = interpreter.consumersThatRan.filter { $0.value.count > 1 }
        callbacksAbove = interpreter.consumersAbove.mapValues { $0.sorted() }
        beforeFinalizers = Self.callbacksBeforeFinalizers(interpreter.events)
        if interpreter.hasOverlapped { fault += "two callbacks of one Deferred ran at the same time " }
        events = interpreter.events.sorted { $0.order < $1.order }
        // Whether what a list's own link receives of its cycle is reported is left open.
        let hidesCycles = program.steps.contains { if case .limitedList = $0 { true } else { false } }
        reports = reported().filter { !(hidesCycles && $0.isOfCycle) }.map { $0.withoutFirst }.sorted {
            $0.order < $1.order
        }
        return status
    }
}

/// Which operations of a run ended before which began.
struct RealTimeOrder: Hashable {
    private var ended: UInt64 = 0
    /// For each operation those that ended before it.
    private var before: [UInt64] = Array(repeating: 0, count: 3 * RealTimeOrder.longest)
    private static let longest = 6

    mutating func begin(_ thread: Int, _ index: Int) { before[thread * Self.longest + index] = ended }
    mutating func end(_ thread: Int, _ index: Int) { ended |= 1 << (thread * Self.longest + index) }

    /// Whether that operation may begin after those that have ended in `other`.
    func permits(_ thread: Int, _ index: Int, after other: RealTimeOrder) -> Bool {
        before[thread * Self.longest + index] & ~other.ended == 0
    }

    /// Whether all that is in order here is so in `other`.
    func isContained(in other: RealTimeOrder) -> Bool {
        zip(before, other.before).allSatisfy { $0 & ~$1 == 0 }
    }
}

extension RealTimeOrder: CustomStringConvertible {
    var description: String {
        func threads(_ operations: UInt64, besides thread: Int) -> [String] {
            (0..<3).filter { $0 != thread }.compactMap { other in
                let count = (operations >> (other * Self.longest) & 0x3f).nonzeroBitCount
                return count == 0 ? nil : "\(count) of thread \(other)"
            }
        }
        let lines = before.indices.compactMap { index in
            let (thread, operation) = (index / Self.longest, index % Self.longest)
            let earlier = threads(before[index], besides: thread).joined(separator: " and ")
            return earlier.isEmpty ? nil : "operation \(operation) of thread \(thread) after \(earlier)"
        }
        return lines.isEmpty ? "all threads at once" : lines.joined(separator: ", ")
    }
}

extension Observation {
    private static func callbacksBeforeFinalizers(_ events: [ModelEvent]) -> [Int: Set<Int>] {
        var result: [Int: Set<Int>] = [:]
        var callbacks: Set<Int> = []
        for event in events {
            if case .ran(let id, _) = event { callbacks.insert(id) }
            if case .finalizer(let id, _) = event { result[id] = callbacks }
        }
        return result
    }
}

extension Observation: CustomStringConvertible {
    var description: String {
        let ends = zip(outcomes, results).map { "d\($0) = \($1.map { "\($0)" } ?? "pending")" }
        let orders = callbacks.sorted { $0.key < $1.key }.map { "callbacks of d\($0.key): \($0.value)" }
        let above = callbacksAbove.sorted { $0.key < $1.key }.map { "callback \($0.key) after \($0.value)" }
        let finalizers = beforeFinalizers.map { "finalizer \($0.key) after \($0.value.sorted())" }
        let lines =
            [ends.joined(separator: ", ")] + orders + above + finalizers + events.map { "\($0)" }
            + reports.map { "\($0)" } + [fault]
        return lines.filter { !$0.isEmpty }.joined(separator: "\n    ")
    }
}

extension ModelEvent {
    /// The place among the events of a run, of which the schedule decides the order.
    fileprivate var order: Int {
        switch self {
        case .ran(let id, _): id
        case .finalizer(let id, _): 1000 + id
        case .canceller(let id): 2000 + id
        case .completed(let id, _): 3000 + id
        case .isCancelled(let id, _): 4000 + id
        case .looked(let id, _): 5000 + id
        case .waited(let id, _): 6000 + id
        case .released(let id): 7000 + id
        case .awaited(let id, _): 8000 + id
        }
    }
}

extension ModelReport {
    fileprivate var order: Int {
        switch self {
        case .unhandled(_, let made): made
        case .alreadySettled(let made, _, let again): 1000 * made + again
        case .notCompletable(let made, let at): 100_000 + 1000 * made + at
        case .unbalanced(let made, let at): 200_000 + 1000 * made + at
        }
    }

    fileprivate var isOfCycle: Bool { if case .unhandled(.cycle, _) = self { true } else { false } }

    /// Without the place of the first completion: which that was is decided by the schedule.
    fileprivate var withoutFirst: ModelReport {
        if case .alreadySettled(let made, _, let again) = self {
            .alreadySettled(made: made, first: nil, again: again)
        } else {
            self
        }
    }
}
