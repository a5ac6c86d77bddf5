import Deferred
import Dispatch
import Foundation
import TestSupport
import Testing

/// The rules of the contract, one suite per group. Each test is derived from the rule's text, and its name
/// begins with the rule.
@Suite(.watchdog) enum Rules {
    /// An error with a number.
    typealias Boom = OperatorForm.Boom

    /// An error of another type.
    struct Crash: Error {}

    /// Describes the outcome of a Deferred in a word: its value, its error, or `pending`. Reading it handles
    /// a failure.
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

    /// Runs `body` and returns the diagnostics reported on this thread.
    static func reports(_ body: () throws -> Void) rethrows -> [DeferredDiagnostic] {
        let reports = Box<[DeferredDiagnostic]>([])
        try DeferredDiagnostics.withHandler({ report in reports.change { $0.append(report) } }, body)
        return reports.value
    }

    /// Describes a diagnostic by its kind and error, and by the lines where the Deferred was made and where it was
    /// reported.
    static func words(_ diagnostic: DeferredDiagnostic) -> String {
        switch diagnostic {
        case .unhandledFailure(let error, let made): "\(name(of: error)) of \(made.line)"
        case .alreadySettled(let made, let first, let again):
            "\(made.line) completed at \(first.map { "\($0.line)" } ?? "?"), again at \(again.line)"
        case .notCompletable(let made, let at): "\(made.line) not completable at \(at.line)"
        case .unbalancedUnpause(let made, let at): "\(made.line) not paused at \(at.line)"
        }
    }

    /// Keeps handles alive up to this call, whatever the optimiser does.
    @inline(never)
    static func keep(_ handles: Any...) {
        withExtendedLifetime(handles) {}
    }
}

extension Rules {
    typealias Log = SharedLog<String>

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
                // The old value is released after the lock.
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

    /// The inputs of a list, by number, and which were begun; their cancellers log their numbers.
    final class Inputs: Sendable {
        let log: Log
        let begun = Box<[Int]>([])
        let all: [Deferred<Int>]

        init(_ count: Int, _ log: Log = Log()) {
            self.log = log
            all = (0..<count).map { index in Deferred<Int>(canceller: { _ in log("cancels \(index)") }) }
        }

        @Sendable func begin(_ index: Int) -> Deferred<Int> {
            begun.change { $0.append(index) }
            return all[index]
        }
    }
}

extension Rules {
    /// A thread that can be waited for.
    final class Worker: Sendable {
        private let done = DispatchSemaphore(value: 0)

        init(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
            let done = done
            let thread = Thread {
                body()
                done.signal()
            }
            if let stackSize { thread.stackSize = stackSize }
            thread.start()
        }

        func join() { done.wait() }
    }

    /// Runs `body` on another thread and waits for it.
    static func onThread(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
        Worker(stackSize: stackSize, body).join()
    }

    /// Runs `body` on `count` threads, starting as simultaneously as possible, and waits for them.
    static func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let start = Gate()
        let workers = (0..<count).map { index in
            Worker {
                start.pass()
                body(index)
            }
        }
        for _ in workers { start.open() }
        for worker in workers { worker.join() }
    }

    /// A gate at which one thread waits for another.
    final class Gate: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        /// Lets one waiting thread pass.
        func open() { semaphore.signal() }
        func pass() { semaphore.wait() }
    }
}
