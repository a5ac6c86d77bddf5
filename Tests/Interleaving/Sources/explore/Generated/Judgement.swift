import CInterleaving
import Deferred
import Interleaving

extension UserProgram: Searched {
    /// Runs the schedules, and judges each log that they leave by the properties.
    func judged(_ options: SearchOptions) -> Judgement {
        // Each log is judged once: the properties take more time than the run.
        var judged: Set<RunLog> = []
        return Judgement(options, limit: 20_000) {
            let (log, remains, status) = logged()
            if status == IL_REDUNDANT { return (status, nil) }
            if let fault = il_failure().map({ String(cString: $0) }) ?? remains { return (status, fault) }
            if status == IL_STUCK { return (status, "no thread can go on") }
            guard judged.insert(log).inserted else { return (status, nil) }
            // While a recording is on, another thread may act between the call of a callback and its first line.
            let violations = Verdict(log, isThreaded: !threads.isEmpty).violations.filter {
                !recordsRuns || !$0.property.hasPrefix("C3, C5: the callback of a link")
            }
            let (properties, texts) = (Set(violations.map(\.property)).sorted(), violations.map(\.text))
            return (
                status,
                violations.isEmpty
                    ? nil : "\(properties.joined(separator: "; "))\n\(texts.joined(separator: "\n"))\n\(log)"
            )
        }
    }

    func runOnce() { _ = logged() }

    func smallest(_ options: SearchOptions) -> any Searched {
        var options = options
        options.collectsReasons = true
        guard let reason = judged(options).reasons.first else { return self }
        return shrunk { $0.judged(options).reasons.contains(reason) }
    }

    /// The number of its links and operations.
    var size: Int {
        steps.count { if case .source = $0 { false } else { true } } + threads.reduce(0) { $0 + $1.count }
    }

    /// Returns the log of a run, what is left of it, and how it ended.
    private func logged() -> (RunLog, remains: String?, status: Int) {
        let recording = startRecording()
        defer { recording?.stop() }
        let cells = il_cells_alive()
        var log = RunLog()
        var remains: [String] = []
        var status = IL_ENDED
        do {
            let run: Run
            (run, status) = Run.scheduled(self, runThreads)
            (log, remains) = (run.log, run.remains)
            Run.report = { _ in }
        }
        AwaitProbe.forgetAll()
        if status == IL_ENDED, il_cells_alive() != cells { remains.append("atomics") }
        return (
            log, remains.isEmpty ? nil : "\(Verdict.nothingRemains)\n" + remains.joined(separator: ", "),
            status
        )
    }
}

/// Random programs that combine what the library has, two of each kind of object: those of the library's tests. All but
/// those of one theme have one thread, and one schedule: of these a few, as the library's tests run many.
func combinedPrograms() -> [SearchedClass] {
    UserProgram.Theme.allCases.map { theme in
        SearchedClass("combined-\(theme)", random: { UserProgram.random(theme, seed: $0) }) { size, body in
            if theme != .threads, size > 1 { return }
            let first = UInt64(size * 1_000_000)
            for seed in first..<(theme == .threads ? .max : first + 500) {
                if !body(UserProgram.random(theme, seed: seed)) { return }
            }
        }
    }
}
