import CompilerProcess
import Foundation

/// Writes the tables of Documentation/CompilerWork.md.
enum CompilerWorkTable {
    static func write(_ rows: [CompilerWorkTests.Row], to file: URL) throws {
        var text = """
            # What chains cost the compiler

            Scopes that the constraint solver opens (`Sema.NumConstraintScopes`) for one expression: a count, the same in each run on
            one version of the compiler. The compiler gives up at 1,048,576. `swift test --filter CompilerWorkTests` checks that no
            closure of a chain costs more than \(CompilerWorkTests.mostScopesAStep), and that a chain costs in proportion to its length. This file is
            written by

            ```sh
            COMPILER_WORK_TABLE=Documentation/CompilerWork.md swift test --filter CompilerWorkTests
            ```

            ## Callbacks and errbacks

            A chain on a `Deferred<Int>` that repeats the step; the closures compute (`{ $0 * 2 + 1 }`).

            | step | x 4 | x 16 | x 64 | each further step |
            |---|---|---|---|---|

            """
        let callbacks = rows.prefix(ChainForm.callbacks.count)
        text += callbacks.map(line).joined()
        text += """

            ## Heads of chains

            Half of the steps, each a `map`, are inside the closure (where it returns a Deferred), the others behind it.

            | head | x 4 | x 16 | x 64 | each further step |
            |---|---|---|---|---|

            """
        text += rows.dropFirst(callbacks.count).map(line).joined()
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    private static func line(_ row: CompilerWorkTests.Row) -> String {
        let counts = row.scopes.map { "\($0)" }.joined(separator: " | ")
        return
            "| \(row.form.name.contains(":") && row.form.name.hasPrefix("everyday") ? row.form.name : "`\(row.form.name)`") "
            + "| \(counts) | \(String(format: "%.0f", row.step)) |\n"
    }
}
