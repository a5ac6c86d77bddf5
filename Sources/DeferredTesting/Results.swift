import Deferred

// Synchronous looks at a Deferred. They throw where they find something else, which fails a test in Swift
// Testing and in XCTest alike; the error says what was found and where it was asked for.

/// The value that `deferred` has; throws ``UnexpectedResult`` if it is pending or has failed.
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

/// The error that `deferred` has failed with, which counts as handled; throws ``UnexpectedResult`` if it is
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

/// The error of this type that `deferred` has failed with; throws ``UnexpectedResult`` if it has not.
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

/// Throws ``UnexpectedResult`` if `deferred` has fired.
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

/// A Deferred was not as a test expected it to be.
public struct UnexpectedResult: Error, CustomStringConvertible {
    /// What was expected, what was found, and where.
    public let description: String

    init(_ expected: String, found: String, _ fileID: StaticString, _ line: UInt) {
        description = "\(fileID):\(line): expected \(expected), found \(found)"
    }
}
