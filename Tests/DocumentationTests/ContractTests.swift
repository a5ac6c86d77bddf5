import Foundation
import TestSupport
import Testing

/// Checks that each numbered rule of Documentation/Contract.md has a test with its number, and the reverse.
@Suite(.watchdog) struct ContractTests {
    private func rules() throws -> [String] {
        try Package.text(of: "Documentation/Contract.md").matches(of: #/(?m)^- \*\*([A-Z]\d+)\*\* /#)
            .map { String($0.output.1) }
    }

    /// The numbers that tests' names begin with: `"F1: …"`, `"O2, O5: …"`.
    private func testedRules() throws -> Set<String> {
        var found: Set<String> = []
        for file in Package.files(under: "Tests", named: ".swift") {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: #/"((?:(?:O1\d|[A-Z]\d), )*(?:O1\d|[A-Z]\d)): /#) {
                found.formUnion(match.output.1.split(separator: ", ").map(String.init))
            }
        }
        return found
    }

    @Test(
        "Contract: every rule has a number of its own and a test with it, and every test's number is a rule's"
    )
    func numbers() throws {
        let (rules, tested) = (try rules(), try testedRules())
        #expect(rules.count >= 37 && Set(rules).count == rules.count)
        #expect(Set(rules).subtracting(tested).sorted() == [], "rules without a test")
        #expect(tested.subtracting(rules).sorted() == [], "numbers of no rule")
    }
}
