public import Deferred

/// A form of an operator, a function of a Deferred that attaches a closure: which outcomes its closure sees, and what it
/// takes from the closure. The tests of what all operators have in common go through ``OperatorForm/all``, whose rows
/// are in `OperatorForm+All.swift`.
public struct OperatorForm: Sendable {
    /// Which outcomes the closure sees; others bypass it.
    public enum Sees: Sendable { case values, errors, booms, uncancelled, either }
    /// What the operator takes from its closure, if that does not throw.
    public enum Takes: Sendable { case value, deferred, nothing, input }
    /// Which of the functions with its name it is.
    public enum Variant: Sendable {
        case only
        /// Its first argument is an error's type.
        case ofType
        /// Its first argument is `.exceptCancellation`.
        case exceptCancellation
        /// It has a second closure, for errors, with that label.
        case pair(String)
    }
    /// Where the closure runs.
    public enum Place: Sendable, Equatable { case dispatcher, mainActor, task }

    /// The name of the function.
    public let function: String
    /// Which of the functions of that name it is.
    public let variant: Variant
    /// Which outcomes its closure sees.
    public let sees: Sees
    /// What it takes from its closure.
    public let takes: Takes
    /// Where its closure runs.
    public let place: Place
    private let attaching: @Sendable (_ source: Deferred<Int>, _ body: Body) -> any DeferredConvertible

    init(_ row: Row, _ place: Place, _ attaching: @escaping Row.Attaching) {
        (function, variant, sees, takes) = (row.function, row.variant, row.sees, row.takes)
        (self.place, self.attaching) = (place, attaching)
    }

    /// An error of the type for which the typed errbacks are.
    public struct Boom: Error, Hashable {
        /// Tells it from others.
        public var id = 0
        /// Creates one.
        public init(_ id: Int = 0) { self.id = id }
    }
}

extension OperatorForm {
    /// What a closure does with the outcome that it sees, as a closure of each type.
    public struct Body: Sendable {
        let run: @Sendable (Result<Int, any Error>) throws -> Deferred<Int>

        /// Creates one. What `run` returns is pending only for an operator that takes a Deferred.
        public init(_ run: @escaping @Sendable (Result<Int, any Error>) throws -> Deferred<Int>) {
            self.run = run
        }

        func later(_ input: Result<Int, any Error>) throws -> Deferred<Int> { try run(input) }
        func later(_ value: Int) throws -> Deferred<Int> { try run(.success(value)) }
        func later(_ error: any Error) throws -> Deferred<Int> { try run(.failure(error)) }
        func now(_ input: Result<Int, any Error>) throws -> Int { try later(input).currentResult!.get() }
        func now(_ value: Int) throws -> Int { try now(.success(value)) }
        func now(_ error: any Error) throws -> Int { try now(.failure(error)) }
        func none(_ input: Result<Int, any Error>) throws { _ = try now(input) }
        func none(_ value: Int) throws { _ = try now(value) }
        func none(_ error: any Error) throws { _ = try now(error) }
        func error(_ input: any Error) -> any Error {
            do { _ = try now(input) } catch { return error }
            return input
        }
        func awaited(_ value: Int) async throws -> Int { try await later(value).value }
        func awaited(_ error: any Error) async throws -> Int { try await later(error).value }
    }

    /// Attaches `body`, and returns a Deferred with a description of the outcome.
    @discardableResult
    public func attach(to source: Deferred<Int>, _ body: Body) -> Deferred<String> {
        func described(_ attached: some DeferredConvertible) -> Deferred<String> {
            attached.deferred.map { "\($0)" }
        }
        return described(attaching(source, body))
    }

    /// Attaches `body`, and returns a Deferred that is resolved when what the operator returns is settled. It receives no
    /// value of that (V1).
    public func attachIgnoringValue(to source: Deferred<Int>, _ body: Body) -> Deferred<Void> {
        func ended(_ attached: some DeferredConvertible) -> Deferred<Void> { attached.deferred.fail { _ in } }
        return ended(attaching(source, body))
    }

    /// Attaches `body`, and returns what the operator returns; nil if it has values of another type than its input's.
    public func pass(_ source: Deferred<Int>, _ body: Body) -> Deferred<Int>? {
        attaching(source, body) as? Deferred<Int>
    }

    /// Returns whether the closure sees `input`, which otherwise bypasses it (L1).
    public func sees(_ input: Result<Int, any Error>) -> Bool {
        switch (sees, input) {
        case (.either, _), (.values, .success), (.errors, .failure): true
        case (.booms, .failure(let error)): error is Boom
        case (.uncancelled, .failure(let error)): !(error is CancellationError)
        case (.values, .failure), (.errors, .success), (.booms, .success), (.uncancelled, .success): false
        }
    }

    /// Returns what comes of `input` by L1 to L4, described, if the closure ends with `end`.
    public func outcome(
        of input: Result<Int, any Error>, endingWith end: Result<Int, any Error>
    ) -> Result<String, any Error> {
        switch (takes, sees(input) ? end : input) {
        case (.nothing, .success): .success("()")
        case (.input, .success): input.map { "\($0)" }
        case (_, let result): result.map { "\($0)" }
        }
    }

    /// An outcome that the closure sees.
    public var seen: Result<Int, any Error> {
        switch sees {
        case .values, .either: .success(1)
        case .errors, .booms, .uncancelled: .failure(Boom(1))
        }
    }

    /// Whether it has a second closure, for errors.
    public var isPair: Bool {
        if case .pair = variant { true } else { false }
    }

    /// Whether a value is received by the closure (V1), rather than passed on: to what comes behind it, or to nobody.
    public var receivesValues: Bool { (sees == .values || sees == .either) && takes != .input }
}

extension OperatorForm: CustomStringConvertible {
    /// The name, and which of the functions of that name it is.
    public var description: String {
        switch variant {
        case .only: function
        case .ofType: "\(function), typed"
        case .exceptCancellation: "\(function), no cancellation"
        case .pair(let label): "\(function), \(label)"
        }
    }

    /// A call of it on a `Deferred<Int>`, as source text, which has an `Int` again: with closures that compute.
    public var call: String {
        let input =
            switch sees {
            case .values: "$0"
            case .either: isPair ? "$0" : "try $0.get()"
            case .errors, .booms, .uncancelled: "1"
            }
        let ignoring = input == "1" ? "_ in " : ""
        let closure =
            switch takes {
            case .value: "{ \(ignoring)\(input) * 2 + 1 }"
            case .deferred where place == .task: "{ \(ignoring)\(input) * 2 + 1 }"
            case .deferred: "{ \(ignoring)Deferred.resolved(\(input) * 2 + 1) }"
            case .input where sees == .errors: "{ _ in DeferredError.timedOut }"
            case .nothing, .input: "{ print($0) }"
            }
        var errback = ""
        if case .pair(let label) = variant {
            let returned = takes == .deferred ? "Deferred.resolved(1 + 2)" : "1 + 2"
            errback = takes == .nothing ? " \(label): { print($0) }" : " \(label): { _ in \(returned) }"
        }
        let arguments = heading.isEmpty ? "" : "(\(heading.joined(separator: ", ")))"
        let again = takes == .nothing ? ".map { 1 + 2 }" : ""
        return ".\(function)\(arguments) \(closure)\(errback)\(again)"
    }

    /// The arguments before the closure, as source text.
    private var heading: [String] {
        let first: String? =
            switch variant {
            case .only, .pair: nil
            case .ofType: "CancellationError.self"
            case .exceptCancellation: ".exceptCancellation"
            }
        return [first, place == .mainActor ? "on: MainActor.self" : nil].compactMap { $0 }
    }

    /// The name of its call in a table.
    public var title: String {
        let arguments =
            switch (variant, place) {
            case (.pair(let label), .mainActor): "(on: MainActor.self, _:\(label):)"
            case (.pair(let label), _): "(_:\(label):)"
            case (.ofType, .mainActor): "(_:, on: MainActor.self)"
            case (.ofType, _): "(_:)"
            default: heading.isEmpty ? "" : "(\(heading.joined(separator: ", ")))"
            }
        return function + arguments + (takes == .nothing ? ", map" : "")
    }
}
