/// What the properties say of one run of a program.
struct Verdict {
    struct Violation {
        let property: String
        let text: String
    }

    let history: History
    private(set) var violations: [Violation] = []

    init(_ program: UserProgram, seed: UInt64) {
        let run = Run.run(program, seed: seed)
        self.init(run.log, isThreaded: !program.threads.isEmpty)
        for text in run.remains { violations.append(Violation(property: Self.nothingRemains, text: text)) }
    }

    /// - Parameter isThreaded: Whether threads act while others are in the midst of a call.
    init(_ log: RunLog, isThreaded: Bool) {
        history = History(log, isThreaded: isThreaded)
        for property in Property.all {
            for text in property.violations(history) {
                violations.append(Violation(property: property.name, text: text))
            }
        }
    }

    func contradicts(_ property: String) -> Bool { violations.contains { $0.property == property } }

    static let nothingRemains = "A2, V3, Q1: nothing is retained or taken at the end"
}
