import CompilerProcess
import Foundation
import TestSupport
import Testing

/// The compiler's errors for values that are not Sendable: at the user's line, not in the library.
@Suite("What the compiler refuses", .watchdog(atOnce: .few))
struct RefusedByCompilerTests {
    private static let declarations = """
        import Deferred
        final class Box { var count = 0 }
        func use(_ deferred: Deferred<Int>, _ box: Box, _ plain: @escaping (Int) -> Int) async throws {
            var total = 0
        """

    /// Each line with an expected error ends in text that the error must contain.
    static let refused = [
        // Values.
        "_ = Deferred<Box>()  // 'Box' does not conform to the 'Sendable' protocol",
        "_ = Deferred.resolved(box)  // 'Box' does not conform to the 'Sendable' protocol",
        "_ = Deferred.rejected(CancellationError()) as Deferred<Box>  // 'Box' does not conform to",
        "_ = Deferred.after(.seconds(1), value: box)  // 'Box' does not conform to the 'Sendable' protocol",
        "_ = DeferredQueue<Box>()  // 'Box' does not conform to the 'Sendable' protocol",
        "_ = deferred.thenReturn(box)  // 'Box' does not conform to the 'Sendable' protocol",
        """
        _ = deferred
            .map { $0 + 1 }
            .map { _ in Box() }  // 'Box' does not conform to the 'Sendable' protocol
        """,
        // Closures that are passed to another isolation.
        "_ = deferred.map(plain)  // non-Sendable parameter 'plain'",
        "_ = deferred.recover { _ in plain(1) }  // capture of 'plain' with non-Sendable type '(Int) -> Int'",
        // Captures, in every closure that the library takes.
        """
        deferred.done { value in
            print(value)
            box.count += value  // capture of 'box' with non-Sendable type 'Box'
        }
        """,
        """
        _ = deferred.map(on: .main) { value in
            value + box.count  // capture of 'box' with non-Sendable type 'Box'
        }
        """,
        """
        _ = deferred.done(on: .main) {
            total += $0  // mutation of captured var 'total' in concurrently-executing code
        }
        print(total)
        """,
        "_ = deferred.map({ $0 }, recover: { _ in box.count })  // capture of 'box' with non-Sendable type",
        "_ = deferred.recover(CancellationError.self) { _ in box.count }  // capture of 'box' with non-Sendable",
        "_ = deferred.mapResult { _ in box.count }  // capture of 'box' with non-Sendable type 'Box'",
        "deferred.finally { _ in box.count += 1 }  // capture of 'box' with non-Sendable type 'Box'",
        "_ = deferred.timeout(.seconds(1)) { box.count }  // capture of 'box' with non-Sendable type 'Box'",
        "_ = Deferred<Int>(canceller: { _ in box.count += 1 })  // capture of 'box' with non-Sendable type",
        """
        _ = Deferred {
            try await Task.sleep(for: .seconds(1))
            return box.count  // capture of 'box' with non-Sendable type 'Box'
        }
        """,
        "_ = Deferred.retry { deferred.thenReturn(box.count) }  // capture of 'box' with non-Sendable type",
        "_ = DeferredLock().syncRun { box.count }  // capture of 'box' with non-Sendable type 'Box'",
        "_ = DeferredList([1], limit: 1) { deferred.thenReturn($0 + box.count) }  // capture of 'box' with",
        // Isolation.
        "deferred.done { screen.number = $0 }  // main actor-isolated property 'number'",
    ]

    /// Code that must compile without a message.
    static let accepted = """
        import Deferred
        import Dispatch
        func chain(_ deferred: Deferred<Int>) async throws -> Int {
            let number = 1
            let text = deferred.map { $0 + number }.map(on: .main) { "\\($0)" }.recover { _ in "none" }
            return try await text.map { $0.count }.finally { print($0) }.value
        }
        @MainActor final class Screen {
            var text = ""
            func show(_ text: Deferred<String>) async throws {
                text.done(on: MainActor.self) { self.text = $0 }
                self.text = try await text.value
            }
        }
        actor Account {
            var balance = 0
            func deposit(_ amount: Deferred<Int>) async throws { balance += try await amount.value }
            nonisolated func watch(_ amount: Deferred<Int>) -> Deferred<Void> {
                amount.asyncDone { amount in await self.add(amount) }
            }
            func add(_ amount: Int) { balance += amount }
        }
        """

    @Test("a type that is not Sendable is refused at the line that uses it, and by its name")
    func refusedAtTheLine() async throws {
        let screen = "@MainActor final class Screen { var number = 0 }\n@MainActor let screen = Screen()"
        let lines = [Self.declarations] + Self.refused + ["}", screen]
        let surprises = try await Compiler().surprises(in: lines.joined(separator: "\n"))
        #expect(surprises == [])
    }

    @Test("ordinary use meets no warning")
    func acceptedInSilence() async throws {
        let complaints = try await Compiler().complaints(about: Self.accepted)
        #expect(complaints.isEmpty)
    }
}
