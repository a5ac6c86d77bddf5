import Foundation
import Testing

/// The numbered rules of Documentation/Contract.md, and the tests that bear their numbers.
@Suite struct ContractTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()

    private func rules() throws -> [String] {
        let contract = Self.tests.deletingLastPathComponent().appending(path: "Documentation/Contract.md")
        let text = try String(contentsOf: contract, encoding: .utf8)
        return text.matches(of: #/(?m)^- \*\*([A-Z]\d+)\*\* /#).map { String($0.output.1) }
    }

    /// The numbers with which the tests' names begin: `"F1: …"`, `"O2, O5: …"`.
    private func testedRules() throws -> Set<String> {
        let files = FileManager.default.enumerator(at: Self.tests, includingPropertiesForKeys: nil)
        var found: Set<String> = []
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: #/"((?:[A-Z]\d, )*[A-Z]\d): /#) {
                found.formUnion(match.output.1.split(separator: ", ").map(String.init))
            }
        }
        return found
    }

    @Test("Contract: every rule has its number once, and a test that bears it")
    func everyRuleIsTested() throws {
        let rules = try rules()
        #expect(rules.count >= 37)
        #expect(Set(rules).count == rules.count)
        let untested = Set(rules).subtracting(try testedRules())
        #expect(untested.isEmpty, "no test bears the number of \(untested.sorted())")
    }

    @Test("Contract: no test bears the number of a rule that is not there")
    func everyNumberIsARule() throws {
        let unknown = try testedRules().subtracting(try rules())
        #expect(unknown.isEmpty, "no rule has the number \(unknown.sorted())")
    }
}
