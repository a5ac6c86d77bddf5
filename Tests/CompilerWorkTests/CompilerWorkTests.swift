import CompilerProcess
import Foundation
import TestSupport
import Testing

/// What chains cost the compiler, in scopes that the constraint solver opens: a count, the same in each run.
///
/// The compiler gives up at 1,048,576 scopes. A name that is overloaded by what its closure returns multiplies
/// them with each step; the names of this library add.
@Suite("The compiler's work", .serialized, .watchdog(atOnce: .few))
struct CompilerWorkTests {
    /// Longer ones for the table, at night: 64 steps cost the compiler nine tenths of the time, and show the same.
    static let lengths = tablePath == nil ? [2, 4, 8] : [4, 16, 64]
    private static let tablePath = ProcessInfo.processInfo.environment["COMPILER_WORK_TABLE"]
    static let mostScopesAStep = 60

    /// A form, and its scopes for chains of each of the lengths.
    struct Row {
        let form: ChainForm
        let scopes: [Int]

        /// Scopes for each further step, between the two longest chains.
        var step: Double {
            Double(scopes[2] - scopes[1])
                / Double(CompilerWorkTests.lengths[2] - CompilerWorkTests.lengths[1])
        }
        /// The same between the two shortest.
        var earlyStep: Double {
            Double(scopes[1] - scopes[0])
                / Double(CompilerWorkTests.lengths[1] - CompilerWorkTests.lengths[0])
        }
    }

    static func rows() async throws -> [Row] {
        let forms = ChainForm.callbacks + ChainForm.heads
        var declarations = [ChainForm.tools]
        for form in forms {
            for length in lengths { declarations.append(form.declaration(length, declarations.count)) }
        }
        let scopes = try await Compiler().solverScopes(of: declarations, importing: ChainForm.modules)
        return forms.enumerated().map { index, form in
            Row(form: form, scopes: Array(scopes[(1 + 3 * index)..<(4 + 3 * index)]))
        }
    }

    @Test(
        "Names: each form of a chain costs the compiler at most 60 scopes a closure, and in proportion to its length"
    )
    func linear() async throws {
        let rows = try await Self.rows()
        #expect(rows.count >= 60)
        for row in rows {
            let closures = Double(max(1, row.form.declaration(1, 0).count { $0 == "{" } - 1))
            let isCallback = ChainForm.callbacks.contains { $0.name == row.form.name }
            let most = Double(Self.mostScopesAStep) * (isCallback ? closures : 1)
            #expect(row.scopes[0] > 0, "\(row.form): nothing was counted")
            #expect(row.step <= most, "\(row.form): \(row.step) scopes a step")
            #expect(row.step <= row.earlyStep * 1.25 + 2, "\(row.form): not linear, \(row.scopes)")
        }
        if let path = Self.tablePath {
            try CompilerWorkTable.write(rows, to: URL(filePath: path))
        }
    }

    @Test("Names: the counter notices a name that is overloaded by what its closure returns")
    func countsOverloads() async throws {
        let overloaded = """
            extension Deferred { func go<U: Sendable>(_ f: @Sendable (Value) throws -> U) -> Deferred<U> { fatalError() }; \
            func go(_ f: @Sendable (Value) throws -> Void) -> Deferred<Void> { fatalError() } }
            """
        func chain(_ count: Int) -> String {
            "func chain\(count)(_ d: Deferred<Int>) { _ = d\(String(repeating: ".go { $0 + 1 }", count: count)) }"
        }
        let scopes = try await Compiler().solverScopes(
            of: [overloaded, chain(2), chain(3), chain(4)], importing: ["Deferred"])
        #expect(scopes[3] - scopes[2] > 3 * (scopes[2] - scopes[1]))
    }
}
