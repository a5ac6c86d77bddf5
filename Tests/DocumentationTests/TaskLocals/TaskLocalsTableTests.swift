import Deferred
import Foundation
import TestSupport
import Testing

/// Checks the table of TaskLocals.md: that it has each public function that stores a closure, and that each row is true.
@Suite(.watchdog) struct TaskLocalsTableTests {
    /// A function of a row, and what its closures see.
    struct Entry: Sendable, CustomTestStringConvertible {
        let function: String
        /// Of a key that is not carried.
        let alone: String
        /// Of a key that is carried.
        let carried: String

        var testDescription: String { function }
    }

    /// What the cells say, and which value of the probe that is.
    private static let values = [
        "the code that runs it": "runner", "the call": "call", "the request": "request", "none": "none",
    ]

    private static func entries() throws -> [Entry] {
        let rows = try Package.text(of: "Sources/Deferred/Deferred.docc/TaskLocals.md")
            .split(separator: "\n").filter { $0.hasPrefix("| `") }
        return rows.flatMap { row -> [Entry] in
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, let alone = values[cells[1]], let carried = values[cells[2]] else {
                return []
            }
            return cells[0].matches(of: #/`([^`]+)`/#).map {
                Entry(function: String($0.output.1), alone: alone, carried: carried)
            }
        }
    }

    private static let sights = [
        ChainSights.all, ChainSights.operators, CoordinationSights.all, MulticastSights.all,
        OperationsSights.all,
    ]
    .reduce(into: [:]) { $0.merge($1) { $1 } }

    /// Handlers see where a diagnostic arises; there is nothing to tell apart.
    private static let handlers: Set = ["DeferredDiagnostics.setHandler", "DeferredDiagnostics.withHandler"]
    /// Methods that subclasses override are no closures.
    private static let methods: Set = ["DataSource.load", "ConcurrentDataSource.execute"]

    @Test("X1, X2: what a closure sees is as the table of TaskLocals.md says", arguments: try entries())
    func sees(_ entry: Entry) async throws {
        if Self.handlers.contains(entry.function) { return }
        let sighting = try #require(Self.sights[entry.function], "no behaviour for \(entry.function)")
        let probe = TaskLocalProbe()
        try await sighting(probe)
        #expect(!probe.all.isEmpty, "\(entry.function): no closure ran")
        #expect(
            Set(probe.all) == [TaskLocalProbe.Sight(carried: entry.carried, plain: entry.alone)],
            "\(entry.function)")
    }

    @Test(
        "X1, X2: the closure of an operator sees what the table says of all operators",
        arguments: OperatorForm.all)
    func sees(_ form: OperatorForm) async throws {
        let row = try #require(
            try Self.entries().first {
                $0.function == (form.place == .task ? "Deferred.asyncMap" : "Deferred.map")
            })
        try await sees(Entry(function: "Deferred.\(form.function)", alone: row.alone, carried: row.carried))
    }

    @Test("X2: the table has each public function that stores a closure, once")
    func complete() throws {
        let entries = try Self.entries().map(\.function)
        #expect(Set(entries).count == entries.count)
        let stored = try Self.storingFunctions()
        #expect(stored.count > 70)
        #expect(
            stored.subtracting(entries).subtracting(ChainSights.operators.keys).sorted() == [],
            "functions that are in no row, and are no operators")
        #expect(
            Set(entries).subtracting(stored).subtracting(Self.methods).sorted() == [],
            "rows of functions that store no closure")
    }

    /// The public functions and properties that take a closure that may run later, out of the interface files.
    private static func storingFunctions() throws -> Set<String> {
        let declaration =
            #/^(?:@\S+ )*(?:(?:final|open|public|internal|indirect) )*(?:extension|class|struct|enum|protocol) ([\w.]+)/#
        let member = #/\b(?:func|var|init)\b ?(\w*)/#
        let module =
            #/^(?:Deferred|Multicast|DeferredOperations|DeferredTesting|DeferredTracing|Dispatch|Foundation)\./#
        var found: Set<String> = []
        for file in Package.files(under: "Documentation/API", named: ".swiftinterface") {
            var types: [(indent: Int, name: String)] = []
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let text = line.drop { $0 == " " }
                let indent = line.count - text.count
                let opened = text.prefixMatch(of: declaration)
                if opened != nil || text.contains("public ") || text.contains("open ") {
                    types.removeAll { $0.indent >= indent }
                }
                if let opened {
                    types.append((indent, String(opened.output.1)))
                    continue
                }
                let isPublic = text.contains("public ") || text.contains("open ")
                let isStored =
                    text.contains("@escaping") || text.contains("Handler?") || text.contains("(@Sendable (")
                guard isPublic, isStored, let name = text.firstMatch(of: member)?.output.1 else { continue }
                let type = types.map(\.name).joined(separator: ".").replacing(module, with: "")
                let label = text.contains("operation: @escaping") ? "(operation:)" : ""
                found.insert("\(type).\(name.isEmpty ? "init" : String(name))\(label)")
            }
        }
        return found
    }
}
