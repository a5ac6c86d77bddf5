import CompilerProcess
import Deferred
import DeferredTesting
import Foundation
import TestSupport
import Testing

/// Checks that the code in each row of the tables in ComingFromElsewhere.md compiles, as the article has it. What that
/// code does is tested with the rules.
@Suite struct ComingFromElsewhereTests {
    /// What the rows use. Each row is the body of a function in an extension of `Rows`.
    private static let names = """
        import Deferred
        import DeferredOperations
        import DeferredTesting
        import Dispatch
        import Foundation
        import Multicast
        struct NotFound: Error {}
        struct Wrapped: Error { init(_ error: any Error) {} }
        struct Confined: Sendable { init(_ value: Int, to queue: DispatchQueue) {} }
        @MainActor final class Label { nonisolated init() {}; var count = 0 }
        struct Rows: Sendable {
            let d = Deferred<Int>(), a = Deferred<Int>(), b = Deferred<Int>(), page = Deferred<Int>()
            let name = Deferred<String>(), text = Deferred<String>(), numbers = Deferred<[Int]>()
            let shown = Deferred<Void>(), other = Resolver.of(Int.self), resolver = Resolver.of(Int.self)
            let clock = ManualClock(), loop = ManualDispatcher(), bag = CancelBag(), label = Label()
            let lock = DeferredLock(), semaphore = DeferredSemaphore(4)
            let q = DeferredQueue<Int>(), channel = DeferredQueue<Int>(size: 0)
            let queue = OperationQueue(), serialQueue = DispatchQueue(label: "serial")
            let calls = RepeatingWork(every: .seconds(30)) {}, source = DataSource { _ in 9 }
            let value = 1, error: any Error = NotFound(), result = Result<Int, any Error>.success(3)
            func f(_ value: Int) -> Int { value + 1 }
            func g(_ error: any Error) -> Int { -1 }
            func h(_ result: Result<Int, any Error>) -> Int { 1 }
            func fetch(_ number: Int) -> Deferred<Int> { .resolved(number) }
            func load() throws -> Int { 7 }
            func start() throws -> Deferred<Int> { .resolved(9) }
            func work() async throws -> Int { 8 }
            func stop() {}
            func task() {}
            func show(_ value: Int) {}
            func report(_ error: any Error) {}
            func note(_ result: Result<Int, any Error>) {}
            func check(_ value: Int) -> Result<String, NotFound> { .success("one") }
        }
        extension Resolver { static func of(_: Value.Type) -> Resolver { Deferred<Value>.withResolver().resolver } }
        extension Rows {

        """

    /// The code of each row of a table with code: what is between backticks in its second cell, but names alone.
    private static func rows() throws -> [[String]] {
        try Package.text(of: "Sources/Deferred/Deferred.docc/ComingFromElsewhere.md").split(separator: "\n")
            .filter { $0.hasPrefix("| ") }
            .map { row in
                let cell = row.split(separator: "|").dropFirst().first ?? ""
                let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
                return parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
                    .filter { $0.wholeMatch(of: #/\.?\w+/#) == nil }
            }
    }

    /// Returns the errors about each row, with its code.
    private func errors(about rows: [[String]]) async throws -> [String] {
        let header = Self.names.split(separator: "\n", omittingEmptySubsequences: false).count - 1
        let functions = rows.enumerated().map { index, codes in
            let code = codes.joined(separator: "; ")
            return "func row\(index)() \(code.contains("await ") ? "async " : "")throws { \(code) }"
        }
        let source = Self.names + functions.joined(separator: "\n") + "\n}\n"
        return try await Compiler().complaints(about: source).filter(\.isError).map { error in
            let index = error.line - header - 1
            let place = rows.indices.contains(index) ? "\(rows[index])" : "line \(error.line)"
            return "\(place): \(error.message)"
        }
    }

    @Test("Coming from elsewhere: the code in every row of a table compiles")
    func rowsCompile() async throws {
        let rows = try Self.rows()
        #expect(rows.count >= 160)
        #expect(rows.count { !$0.isEmpty } >= 150)
        let errors = try await errors(about: rows)
        #expect(errors.isEmpty, "\(errors)")
    }
}
