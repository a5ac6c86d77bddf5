import Deferred
import Foundation
import Testing

/// The rules of the contract, a suite for each group of them. Each test is written from the rule's text, and
/// its name begins with the rule.
enum Rules {
    /// An error that a test can tell from any other.
    struct Boom: Error, Hashable {
        var id = 0
        init(_ id: Int = 0) { self.id = id }
    }

    /// An error of another type.
    struct Crash: Error {}

    /// The outcome of a Deferred in a word: its value, its error, or `pending`. Looking handles a failure.
    static func outcome<Value>(_ deferred: Deferred<Value>) -> String {
        guard let result = deferred.currentResult else { return "pending" }
        return outcome(result)
    }

    static func outcome<Value>(_ result: Result<Value, any Error>) -> String {
        switch result {
        case .success(let value): "\(value)"
        case .failure(let error): name(of: error)
        }
    }

    static func name(of error: any Error) -> String {
        switch error {
        case is CancellationError: "cancelled"
        case DeferredError.abandoned: "abandoned"
        case DeferredError.cycle: "cycle"
        case DeferredError.empty: "empty"
        case let boom as Boom: "Boom(\(boom.id))"
        default: "\(error)"
        }
    }

    /// What is reported on this thread while `body` runs.
    static func reports(_ body: () throws -> Void) rethrows -> [DeferredDiagnostic] {
        let reports = Box<[DeferredDiagnostic]>([])
        try DeferredDiagnostics.withHandler({ report in reports.change { $0.append(report) } }, body)
        return reports.value
    }

    /// Keeps handles until here, whatever the optimiser thinks of their last use.
    @inline(never)
    static func keep(_ handles: Any...) {
        withExtendedLifetime(handles) {}
    }
}

extension Rules {
    /// What happened, in order; written by any thread.
    ///
    /// Sound as `@unchecked Sendable`: `noted` is touched under `lock` alone.
    final class Log: @unchecked Sendable {
        private let lock = NSLock()
        private var noted: [String] = []

        func callAsFunction(_ entry: String) { lock.withLock { noted.append(entry) } }

        var entries: [String] { lock.withLock { noted } }
    }

    /// A variable that closures share.
    ///
    /// Sound as `@unchecked Sendable`: `stored` is touched under `lock` alone.
    final class Box<Value>: @unchecked Sendable {
        private let lock = NSRecursiveLock()
        private var stored: Value

        init(_ value: Value) { stored = value }

        var value: Value {
            get { lock.withLock { stored } }
            set {
                // What was in it is let go after the lock.
                let old = lock.withLock {
                    let old = stored
                    stored = newValue
                    return old
                }
                _ = old
            }
        }

        func change(_ body: (inout Value) -> Void) { lock.withLock { body(&stored) } }
    }
}
