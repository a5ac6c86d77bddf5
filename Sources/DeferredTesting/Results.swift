import Deferred

// Synchronous peeks at a Deferred. They throw if they find something else, which fails a test in Swift Testing and in
// XCTest alike; the error says what was found and where the function was called.

/// Returns the value of `deferred`; throws ``UnexpectedResult`` if it is pending or has failed.
///
/// ```swift
/// #expect(try successResult(of: answer) == 42)
/// ```
@discardableResult
public func successResult<Value>(
    of deferred: Deferred<Value>, fileID: StaticString = #fileID, line: UInt = #line
) throws -> Value {
    switch deferred.currentResult {
    case .success(let value): return value
    case .failure(let error): throw UnexpectedResult("a value", found: "failure \(error)", fileID, line)
    case nil: throw UnexpectedResult("a value", found: "\(deferred)", fileID, line)
    }
}

/// Returns the error that `deferred` has failed with, which counts as handled; throws ``UnexpectedResult`` if it is
/// pending or has a value.
///
/// ```swift
/// #expect(try failureResult(of: answer) is CancellationError)
/// ```
@discardableResult
public func failureResult<Value>(
    of deferred: Deferred<Value>, fileID: StaticString = #fileID, line: UInt = #line
) throws -> any Error {
    switch deferred.currentResult {
    case .success(let value): throw UnexpectedResult("a failure", found: "value \(value)", fileID, line)
    case .failure(let error): return error
    case nil: throw UnexpectedResult("a failure", found: "\(deferred)", fileID, line)
    }
}

/// Returns the error of this type that `deferred` has failed with; throws ``UnexpectedResult`` if there is none.
@discardableResult
public func failureResult<Value, Failure: Error>(
    of deferred: Deferred<Value>, as type: Failure.Type, fileID: StaticString = #fileID, line: UInt = #line
) throws -> Failure {
    let error = try failureResult(of: deferred, fileID: fileID, line: line)
    guard let matching = error as? Failure else {
        throw UnexpectedResult("a failure of type \(type)", found: "failure \(error)", fileID, line)
    }
    return matching
}

/// Throws ``UnexpectedResult`` if `deferred` is settled.
public func expectNoResult<Value>(
    _ deferred: Deferred<Value>, fileID: StaticString = #fileID, line: UInt = #line
) throws {
    switch deferred.currentResult {
    case .success(let value): throw UnexpectedResult("no result yet", found: "value \(value)", fileID, line)
    case .failure(let error):
        throw UnexpectedResult("no result yet", found: "failure \(error)", fileID, line)
    case nil: break
    }
}

/// The error of a test that expected another result of a Deferred.
public struct UnexpectedResult: Error, CustomStringConvertible {
    /// What was expected, what was found, and where.
    public let description: String

    init(_ expected: String, found: String, _ fileID: StaticString, _ line: UInt) {
        description = "\(fileID):\(line): expected \(expected), found \(found)"
    }
}
