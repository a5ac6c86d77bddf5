import Foundation
import TestSupport
import Testing

/// The table of operators, by which the tests of the rules and of the articles go, has all of them.
@Suite(.watchdog) struct OperatorFormsTests {
    /// Operators whose closure neither makes the outcome nor passes it on; they have tests of their own.
    private static let others = ["finally": 1]

    /// How many public functions of a Deferred have each name, of those that match.
    private static func functions(matching pattern: some RegexComponent) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        var isOfDeferred = false
        for line in try Package.text(of: "Documentation/API/Deferred.swiftinterface").split(separator: "\n") {
            if line.hasPrefix("extension ") || line.hasPrefix("public ") {
                isOfDeferred = line.contains(#/^(public struct|extension Deferred\.)Deferred\b/#)
            }
            guard isOfDeferred, line.contains(pattern), !line.contains(" static "),
                let name = line.firstMatch(of: #/public func (\w+)/#)?.1
            else { continue }
            counts[String(name), default: 0] += 1
        }
        return counts
    }

    private static func counts(_ forms: [OperatorForm]) -> [String: Int] {
        Dictionary(grouping: forms, by: \.function).mapValues(\.count)
    }

    @Test("L1: every operator that takes a dispatcher has a row in OperatorForm+All.swift")
    func dispatched() throws {
        let functions = try Self.functions(
            matching: #/\bon dispatcher: \(any Deferred\.Dispatcher\)\? = nil/#)
        #expect(functions == Self.counts(OperatorForm.on(nil)).merging(Self.others) { $1 })
    }

    @Test("L1: every operator that starts a Task has a row in OperatorForm+All.swift")
    func asynchronous() throws {
        let functions = try Self.functions(matching: #/\bpriority: _Concurrency\.TaskPriority\?/#)
        #expect(functions == Self.counts(OperatorForm.asynchronous))
    }
}
