import Deferred
import DeferredTracing
import Interleaving

typealias D = Deferred<Int>

/// An error of the scenarios.
struct E1: Error {}

/// Describes an outcome in a word; "pending" if there is none.
func show<T>(_ result: Result<T, any Error>?) -> String {
    switch result {
    case nil: "pending"
    case .success(let value): "\(value)"
    case .failure(let error): show(error)
    }
}

func show(_ error: any Error) -> String {
    switch error {
    case is CancellationError: "cancelled"
    case is E1: "E1"
    case DeferredError.abandoned: "abandoned"
    case DeferredError.cycle: "cycle"
    case DeferredError.timedOut: "timedOut"
    case DeferredError.wouldDeadlock: "wouldDeadlock"
    default: "\(error)"
    }
}

/// Records the outcome of `deferred` in the log, after `tag`.
func watch<T>(_ deferred: Deferred<T>, _ log: Log, _ tag: String) {
    deferred.both { log.add(tag + show($0)) }
}

/// Waits, and records the value, or the error after "!".
func wait<T>(for deferred: Deferred<T>, _ log: Log, timeout: Duration? = nil) {
    do {
        log.add("\(try deferred.wait(timeout: timeout))")
    } catch {
        log.add("!" + show(error))
    }
}

/// The diagnostics that the run has reported.
nonisolated(unsafe) var reports: [String] = []

/// Returns the reports of the run if there are any.
func noReports() -> String? { expect(reports.isEmpty, "reported: \(reports)") }

/// Whether a recording is active during each run.
nonisolated(unsafe) var recordsRuns = false

func startRecording() -> DeferredRecording? { recordsRuns ? DeferredDiagnostics.startRecording() : nil }
