import Foundation
import Testing

/// Checks that each numbered rule of Documentation/Contract.md has a test with its number, and the reverse.
@Suite struct ContractTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()

    private func rules() throws -> [String] {
        let contract = Self.tests.deletingLastPathComponent().appending(path: "Documentation/Contract.md")
        let text = try String(contentsOf: contract, encoding: .utf8)
        return text.matches(of: #/(?m)^- \*\*([A-Z]\d+)\*\* /#).map { String($0.output.1) }
    }

    /// The numbers that tests' names begin with: `"F1: …"`, `"O2, O5: …"`.
    private func testedRules() throws -> Set<String> {
        let files = FileManager.default.enumerator(at: Self.tests, includingPropertiesForKeys: nil)
        var found: Set<String> = []
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: #/"((?:(?:O1\d|[A-Z]\d), )*(?:O1\d|[A-Z]\d)): /#) {
                found.formUnion(match.output.1.split(separator: ", ").map(String.init))
            }
        }
        return found
    }

    @Test("Contract: every rule has a number of its own, and a test with that number")
    func everyRuleIsTested() throws {
        let rules = try rules()
        #expect(rules.count >= 37)
        #expect(Set(rules).count == rules.count)
        let untested = Set(rules).subtracting(try testedRules())
        #expect(untested.isEmpty, "no test has the number of \(untested.sorted())")
    }

    @Test("Contract: every number in a test's name is that of a rule")
    func everyNumberIsARule() throws {
        let unknown = try testedRules().subtracting(try rules())
        #expect(unknown.isEmpty, "no rule has the number \(unknown.sorted())")
    }
}
