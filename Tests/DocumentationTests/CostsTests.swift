import Foundation
import TestSupport
import Testing

/// Compares the article on costs with the documentation comments.
@Suite(.watchdog) struct CostsTests {
    /// The operations of the article's table: `Type.name`.
    private func rows() throws -> [String] {
        try Package.text(of: "Sources/Deferred/Deferred.docc/Costs.md").matches(
            of: #/(?m)^\| `(\w+\.\w+)` \|/#
        )
        .map { String($0.output.1) }
    }

    /// The operations whose comment has a line with their complexity, without those that take constant time.
    private func documented() throws -> Set<String> {
        var found: Set<String> = []
        let files = Package.files(under: "Sources", named: ".swift")
            .filter { !$0.path.contains("DeferredOperations") }
        for file in files {
            var (type, isComplex) = ("", false)
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let kinds = #/^(?:[@\w]+ )*(?:class|struct|enum|extension|protocol) ((?:\w+\.)*)(\w+).*/#
                if !line.hasPrefix(" "), let match = line.wholeMatch(of: kinds) {
                    type = String(match.output.2)
                }
                if line.contains("/// - Complexity: "), !line.contains("O(1)") { isComplex = true }
                guard isComplex,
                    let match = line.firstMatch(of: #/^ *(?:[@\w]+ )*(?:func |var )(\w+)|^ *public (init)\b/#)
                else { continue }
                found.insert("\(type).\(match.output.1 ?? match.output.2 ?? "")")
                isComplex = false
            }
        }
        return found
    }

    @Test("K1: what the table of costs lists is what the comments say, and the reverse")
    func sameOperations() throws {
        let (rows, documented) = (try rows(), try documented())
        #expect(rows.count >= 50 && Set(rows).count == rows.count)
        #expect(Set(rows).subtracting(documented).sorted() == [], "rows without a line in a comment")
        #expect(documented.subtracting(rows).sorted() == [], "lines in comments without a row")
    }
}
