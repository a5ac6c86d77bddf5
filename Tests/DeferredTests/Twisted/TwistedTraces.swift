import Foundation
import Testing

/// Twisted's behaviour, as recorded by Tests/Conformance/record_twisted.py.
struct TwistedTraces: Decodable, Sendable {
    let recordedWith: String
    let scenarios: [TwistedScenario]
    let randomSeed: Int
    let randomPrograms: [RandomProgram]

    /// The recording of this checkout. A test that needs it fails with the reason if it cannot be read.
    static let recorded: Result<TwistedTraces, any Error> = Result {
        try JSONDecoder().decode(
            TwistedTraces.self, from: Data(contentsOf: folder.appending(path: "traces.json")))
    }

    /// Tests/Conformance, beside the tests.
    static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Conformance")

    static var scenarios: [TwistedScenario] { (try? recorded.get().scenarios) ?? [] }
    static var randomPrograms: [RandomProgram] { (try? recorded.get().randomPrograms) ?? [] }
}

/// A program written for the test, Twisted's trace, and Deferred's where it differs on
/// purpose.
struct TwistedScenario: Decodable, Sendable, CustomTestStringConvertible {
    let rule: String
    let name: String
    let program: [String]
    let twisted: [String]
    let differs: Difference?

    struct Difference: Decodable, Sendable {
        let by: Parting
        let because: String
        let deferred: [String]
    }

    var testDescription: String { "\(rule): \(name)" }
}

/// A generated program and Twisted's trace.
struct RandomProgram: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let program: [String]
    let twisted: [String]

    var testDescription: String { name }
}

/// The intended differences to Twisted; the names are those of scenarios.txt.
enum Parting: String, Decodable, CaseIterable, Sendable {
    /// Old handles and inner Deferreds keep their values (L4, D3).
    case kept
    /// A late result is dropped once after any cancel, with a canceller too (C2).
    case late
    /// Consumers are counted (C3).
    case consumers
    /// A cancel during a running callback, or before a link is dequeued, is remembered (C5).
    case remembered
    /// A list's cancel fails the list (D4).
    case listCancel = "list-cancel"
    /// Pausing suspends what is downstream, and works from inside a callback (P1).
    case pause
    /// Errors come as they are: no FirstError (D2).
    case errors
    /// A canceller's or errback's answer to a timeout counts, and `onTimeout` is not asked (C1).
    case ownAnswer = "own-answer"
    /// A `first` of which all inputs fail has the last error (D2).
    case firstError = "first-error"
    /// The `first` of no inputs fails (D1).
    case empty
    /// An error among a list's results counts as handled (D3).
    case told
    /// A cancellation is no unhandled error (U1).
    case silentCancel = "silent-cancel"
    /// Inside a callback that runs at once the new handle does not exist yet (F3).
    case atOnce = "at-once"
    /// All callbacks of one Deferred run before any further downstream (F4).
    case breadth
    /// A link that would wait for itself fails (L5).
    case cycle
    /// A Deferred that nothing can complete any more fails (A1).
    case abandoned
    /// Only a Deferred from `init()`, `init(canceller:)` or a resolver can be completed explicitly.
    case notCompletable = "not-fireable"
}
