import CompilerProcess
import Testing

/// The commonest mistakes in a chain, and the compiler's message for each, which must be at the line of the
/// mistake.
struct Mistake: Sendable, CustomStringConvertible {
    let description: String
    /// The lines of a function's body. The one with the mistake ends in `// here`.
    let source: String
    /// Part of the compiler's message.
    let message: String
    let remedy: String

    static let declarations = """
        import Deferred
        struct User: Sendable { let name: String }
        struct Failed: Error {}
        func user(_ id: Int) -> Deferred<User> { .resolved(User(name: "Ada")) }
        func parse(_ text: String) throws -> Int { text.count }
        func load() async throws -> Int { 1 }
        @MainActor final class Screen { var text = "" }
        final class Box { var count = 0 }
        """

    static let all: [Mistake] = [
        Mistake(
            description: "a typo in a closure",
            source: """
                _ = user(1)
                    .map { $0.name }
                    .then { user($0.count) }
                    .map { $0.nme }  // here
                    .map { $0.count + 1 }
                """,
            message: "value of type 'User' has no member 'nme'", remedy: "correct the name"),
        Mistake(
            description: "`try` is missing",
            source: """
                _ = user(1)
                    .map { parse($0.name) }  // here
                    .map { $0 + 1 }
                """,
            message: "call can throw, but it is not marked with 'try'", remedy: "`map { try parse($0.name) }`"
        ),
        Mistake(
            description: "a value returned to `then`",
            source: """
                _ = user(1)
                    .then { $0.name + "!" }  // here
                """,
            message: "requires that 'String' conform to 'DeferredConvertible'", remedy: "`map`"),
        Mistake(
            description: "a Deferred returned to `map`, then used as a value",
            source: """
                _ = user(1)
                    .map { user($0.name.count) }
                    .map { $0.name }  // here
                """,
            message: "value of type 'Deferred<User>' has no member 'name'", remedy: "`then`"),
        Mistake(
            description: "a value returned to `done`",
            source: """
                user(1)
                    .done { $0.name.count }  // here
                """,
            message: "expression of type 'Int' is unused", remedy: "`map`"),
        Mistake(
            description: "`then` whose closure only throws",
            source: """
                _ = user(1)
                    .then { _ in throw Failed() }  // here
                """,
            message: "cannot conform to 'DeferredConvertible'", remedy: "`map`, with the type of the result"),
        Mistake(
            description: "an asynchronous call in `map`",
            source: """
                _ = user(1)
                    .map { _ in try await load() }  // here
                """,
            message: "cannot pass function of type", remedy: "`asyncMap`"),
        Mistake(
            description: "an errback that returns another type",
            source: """
                let _: Deferred<Int> = user(1)
                    .map { $0.name.count }
                    .recover { _ in "none" }  // here
                """,
            message: "cannot convert value of type 'String' to closure result type 'Int'",
            remedy: "`map` to the common type first, or `mapResult`"),
        Mistake(
            description: "isolation is missing",
            source: """
                let screen = await Screen()
                user(1)
                    .done { screen.text = $0.name }  // here
                """,
            message: "main actor-isolated property 'text'", remedy: "`done(on: MainActor.self) { … }`"),
        Mistake(
            description: "a value that is not Sendable is captured",
            source: """
                let box = Box()
                user(1)
                    .done { box.count += $0.name.count }  // here
                """,
            message: "capture of 'box' with non-Sendable type 'Box'",
            remedy: "an actor, a lock, or a Sendable type"),
        Mistake(
            description: "the result of a chain is not used",
            source: """
                user(1)
                    .map { $0.name }  // here
                """,
            message: "is unused", remedy: "end the chain with `done`, `fail` or `both`"),
    ]

    var lines: [String] {
        ["func use() async throws {"] + source.split(separator: "\n").map(String.init) + ["}"]
    }

    /// The compiler's message, and the line of the source that it must refer to.
    func complaints() async throws -> (found: [Compiler.Complaint], line: Int) {
        let header = Self.declarations.split(separator: "\n").map(String.init)
        let all = header + lines
        let found = try await Compiler().complaints(about: all.joined(separator: "\n"))
        return (found, (all.firstIndex { $0.hasSuffix("// here") } ?? -1) + 1)
    }
}

@Suite("The compiler's messages")
struct MistakeTests {
    @Test("Names: the compiler reports a mistake at its line", arguments: Mistake.all)
    func reported(mistake: Mistake) async throws {
        let (found, line) = try await mistake.complaints()
        #expect(
            found.contains { $0.line == line && $0.message.contains(mistake.message) },
            "line \(line), \(mistake.message): \(found)")
    }
}
