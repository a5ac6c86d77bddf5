/// What the properties say of one run of a program.
struct Verdict {
    struct Violation {
        let property: String
        let text: String
    }

    let history: History
    private(set) var violations: [Violation] = []

    init(_ program: Program, seed: UInt64) {
        let run = Run.run(program, seed: seed)
        history = History(run.log)
        for property in Property.all {
            for text in property.violations(history) {
                violations.append(Violation(property: property.name, text: text))
            }
        }
        for text in run.remains { violations.append(Violation(property: Self.nothingRemains, text: text)) }
    }

    func contradicts(_ property: String) -> Bool { violations.contains { $0.property == property } }

    static let nothingRemains = "A2, V3, Q1: nothing is retained or taken at the end"
}
