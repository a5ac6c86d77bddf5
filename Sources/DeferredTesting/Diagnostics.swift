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
/// A failure is reported when the last handle to its Deferred goes: make the handles inside `body`. What is
/// reported on other threads, outside of this Task and those made in `body`, does not belong to this test,
/// and is not seen.
@discardableResult
public func expectNoUnhandledFailures<R>(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: () throws -> R
) throws -> R {
    let seen = Guarded<[DeferredDiagnostic]>([])
    let result = try DeferredDiagnostics.withHandler({ seen.add($0) }, body)
    try UnexpectedDiagnostics.check(seen, fileID, line)
    return result
}

/// As the synchronous form, for an asynchronous `body`, which runs on the caller's actor.
@discardableResult
public func expectNoUnhandledFailures<R>(
    isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: () async throws -> R
) async throws -> R {
    let seen = Guarded<[DeferredDiagnostic]>([])
    let result = try await DeferredDiagnostics.withHandler({ seen.add($0) }, body)
    try UnexpectedDiagnostics.check(seen, fileID, line)
    return result
}

/// What was reported to `DeferredDiagnostics` while `body` ran, on its thread, for a test that expects a
/// report.
public func diagnostics(reportedDuring body: () throws -> Void) rethrows -> [DeferredDiagnostic] {
    let seen = Guarded<[DeferredDiagnostic]>([])
    try DeferredDiagnostics.withHandler({ seen.add($0) }, body)
    return seen.withLock { $0 }
}

/// Faults were reported where a test expected none.
public struct UnexpectedDiagnostics: Error, CustomStringConvertible {
    /// What was reported, in that order.
    public let diagnostics: [DeferredDiagnostic]
    private let place: String

    /// The reports in words, and where none were expected.
    public var description: String {
        "\(place): expected no diagnostics, found \(diagnostics.map(\.description).joined(separator: "; "))"
    }

    static func check(
        _ seen: Guarded<[DeferredDiagnostic]>, _ fileID: StaticString, _ line: UInt
    ) throws {
        let diagnostics = seen.withLock { $0 }
        if !diagnostics.isEmpty {
            throw UnexpectedDiagnostics(diagnostics: diagnostics, place: "\(fileID):\(line)")
        }
    }
}

extension Guarded where Value == [DeferredDiagnostic] {
    fileprivate func add(_ diagnostic: DeferredDiagnostic) {
        withLock { $0.append(diagnostic) }
    }
}
