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
    guard case .success(let value) = deferred.currentResult else {
        throw UnexpectedResult("a value", deferred, fileID, line)
    }
    return value
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
    guard case .failure(let error) = deferred.currentResult else {
        throw UnexpectedResult("a failure", deferred, fileID, line)
    }
    return error
}

/// Returns the error of this type that `deferred` has failed with; throws ``UnexpectedResult`` if there is none.
@discardableResult
public func failureResult<Value, Failure: Error>(
    of deferred: Deferred<Value>, as type: Failure.Type, fileID: StaticString = #fileID, line: UInt = #line
) throws -> Failure {
    guard let matching = try failureResult(of: deferred, fileID: fileID, line: line) as? Failure else {
        throw UnexpectedResult("a failure of type \(type)", deferred, fileID, line)
    }
    return matching
}

/// Throws ``UnexpectedResult`` if `deferred` is settled. A failure that it finds counts as handled.
public func expectNoResult<Value>(
    _ deferred: Deferred<Value>, fileID: StaticString = #fileID, line: UInt = #line
) throws {
    if deferred.currentResult != nil { throw UnexpectedResult("no result yet", deferred, fileID, line) }
}

/// The error of a test that expected another result of a Deferred.
public struct UnexpectedResult: Error, CustomStringConvertible {
    /// What was expected, what was found, and where.
    public let description: String

    init<Value>(
        _ expected: String, _ deferred: Deferred<Value>, _ fileID: StaticString, _ line: UInt
    ) {
        let found =
            switch deferred.currentResult {
            case .success(let value): "value \(value)"
            case .failure(let error): "failure \(error)"
            case nil: "\(deferred)"
            }
        description = "\(fileID):\(line): expected \(expected), found \(found)"
    }
}
