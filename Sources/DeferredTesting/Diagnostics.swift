import Deferred

/// Runs `body`, and throws ``UnexpectedDiagnostics`` if a failure went unhandled, or any other fault was
/// reported to `DeferredDiagnostics`, while it ran.
///
/// ```swift
/// try expectNoUnhandledFailures {
///     let page = fetch(badAddress)
///     page.fail { _ in }
/// }
/// ```
///
/// A failure is reported when the last handle of its Deferred is released: create the handles inside `body`. What is
/// reported on other threads, outside of this Task and of Tasks created in `body`, does not belong to this test, and is
/// not seen.
///
/// The compiler does not see a `try` inside `#expect`. If `body` has no other, begin it with `{ () throws in`.
@discardableResult
public func expectNoUnhandledFailures<R>(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: () throws -> R
) throws -> R {
    let reports = Reports()
    let result = try DeferredDiagnostics.withHandler(reports.add, body)
    try reports.expectNone(fileID, line)
    return result
}

/// Runs an asynchronous `body` on the caller's actor; otherwise behaves as the synchronous form.
@discardableResult
public func expectNoUnhandledFailures<R>(
    isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: () async throws -> R
) async throws -> R {
    let reports = Reports()
    let result = try await DeferredDiagnostics.withHandler(reports.add, body)
    try reports.expectNone(fileID, line)
    return result
}

/// Runs `body`, and returns what was reported to `DeferredDiagnostics` on its thread meanwhile: for a test that
/// expects a report.
public func diagnostics(reportedDuring body: () throws -> Void) rethrows -> [DeferredDiagnostic] {
    let reports = Reports()
    try DeferredDiagnostics.withHandler(reports.add, body)
    return reports.all
}

/// The error of a test that expected no reports.
public struct UnexpectedDiagnostics: Error, CustomStringConvertible {
    /// What was reported, in order.
    public let diagnostics: [DeferredDiagnostic]
    fileprivate let place: String

    /// The reports, and where none were expected.
    public var description: String {
        "\(place): expected no diagnostics, found \(diagnostics.map(\.description).joined(separator: "; "))"
    }
}

/// What is reported while a test's closure runs.
private struct Reports: Sendable {
    private let seen = SpinLocked<[DeferredDiagnostic]>([])

    var all: [DeferredDiagnostic] { seen.withLock { $0 } }

    func add(_ diagnostic: DeferredDiagnostic) { seen.withLock { $0.append(diagnostic) } }

    func expectNone(_ fileID: StaticString, _ line: UInt) throws {
        if !all.isEmpty { throw UnexpectedDiagnostics(diagnostics: all, place: "\(fileID):\(line)") }
    }
}
