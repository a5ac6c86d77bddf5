import Deferred
import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// URLs in, files out: the whole flow, as one chain of Deferreds.
///
/// - ``fetch(_:)-swift.method``: all of them, at most so many at once;
/// - below it, one of them: asked for, asked for again if need be, put in its place, within its time, and
///   told to those who look on;
/// - below that, one try: an operation on the queue.
///
/// A cancel at the top goes all the way down.
struct Fetcher: Sendable {
    private let options: Options
    private let journal: Journal
    private let stage: Stage
    private let queue = OperationQueue()
    /// Fires when standard output is of no use any more; nil if nothing goes there.
    private let brokenOutput: Deferred<OutputStream.Failure>?

    init(_ options: Options, _ journal: Journal, _ stage: Stage) {
        self.options = options
        self.journal = journal
        self.stage = stage
        brokenOutput = options.output == .standardOutput ? OutputStream.standardOutput.whenBroken() : nil
        queue.maxConcurrentOperationCount = options.jobs
    }

    /// Fetches all: fails as soon as one fails if that is wanted, is done with the first that succeeds if
    /// that is wanted; the rest are cancelled then.
    func fetch(_ transfers: [Transfer]) -> Deferred<Void> {
        let list = DeferredList(
            transfers, limit: options.jobs, consumeErrors: true, cancelsRemaining: true, fetch)
        return if options.takesFirst {
            list.first().then { _ in }
        } else if options.failsFast {
            list.values().then { _ in }
        } else {
            list.results().then { _ in }
        }
    }

    /// Fetches one, and tries again what may pass.
    func fetch(_ transfer: Transfer) -> Deferred<Fetched> {
        journal.begin(transfer)
        return Deferred(catching: { try request(for: transfer) })
            .then { request in
                Deferred.retry(attempts: options.retries + 1, delay: pauses(transfer), when: Retrying.mayPass)
                { attempt in
                    journal.ask(transfer, attempt: attempt)
                    return download(request, transfer)
                }
            }
            // Up to here: when all has been written, its reader may go.
            .stopped(by: brokenOutput)
            .then { file in deliver(file, transfer) }
            .limited(to: options.maximumTime)
            .both { result in
                journal.end(transfer, result)
                return try result.get()
            }
    }

    /// One try.
    private func download(
        _ request: URLRequest, _ transfer: Transfer
    ) -> Deferred<DownloadDataSource.File> {
        Deferred(catching: { try stage.place(for: transfer) })
            .then { place in
                DownloadDataSource(
                    request, to: place, existing: options.existing.whenDownloading,
                    resumes: options.existing == .resume, options: limits(transfer)
                ).request(on: queue)
            }
    }

    /// Puts in its place what came. Whoever reads standard output or a pipe may be slow: writing there is work of its
    /// own.
    private func deliver(_ file: DownloadDataSource.File, _ transfer: Transfer) -> Deferred<Fetched> {
        switch transfer.destination {
        case .file(let path):
            Deferred(catching: { try stage.putInPlace(file, path) })
        case .standardOutput:
            copy(file, to: nil)
        case .stream(let path):
            copy(file, to: path)
        }
    }

    private func copy(_ file: DownloadDataSource.File, to path: String?) -> Deferred<Fetched> {
        DataSource { operation in
            try stage.copy(file, to: path, unless: { operation.isCancelled })
        }.request(on: queue)
    }

    private func limits(_ transfer: Transfer) -> TransferOptions {
        var limits = TransferOptions()
        limits.silenceTimeout = options.timeout
        limits.onProgress = { journal.receive(transfer, $0.received, of: $0.expected) }
        return limits
    }

    private func request(for transfer: Transfer) throws -> URLRequest {
        var request = URLRequest(url: try transfer.url.get())
        for header in options.headers { request.addValue(header.value, forHTTPHeaderField: header.name) }
        return request
    }

    /// How long to wait before another try; those who look on are told.
    private func pauses(_ transfer: Transfer) -> RetryDelay {
        .custom { attempt, error in
            let delay = Retrying.delay(afterAttempt: attempt, error)
            journal.pause(transfer, error, delay: delay, triesLeft: options.retries + 1 - attempt)
            return delay
        }
    }

    /// Comes back when nothing is under way any more, what was cancelled included.
    func waitUntilIdle() {
        queue.waitUntilAllOperationsAreFinished()
    }
}

extension Deferred {
    /// This outcome, if it comes in time.
    fileprivate func limited(to time: Duration?) -> Deferred<Value> {
        guard let time else { return self }
        return timeout(time) { throw TookTooLong(limit: time) }
    }

    /// This outcome, unless `broken` fires first: then that is the failure, and the rest is cancelled.
    fileprivate func stopped(by broken: Deferred<OutputStream.Failure>?) -> Deferred<Value> {
        guard let broken else { return self }
        let whole = fail(CancellationError.self) { error -> Value in
            throw (try? broken.currentResult?.get()) ?? error
        }
        broken.then { _ in whole.cancel() }
        return whole
    }
}

/// A transfer was not done within `--max-time`.
struct TookTooLong: Error, CustomStringConvertible {
    let limit: Duration
    var description: String { "not done after \(Amount.span(limit)) (--max-time)" }
}

extension Options.Existing {
    /// What a download does with a file that is there: with `--continue` it counts as done.
    fileprivate var whenDownloading: DownloadDataSource.Existing {
        switch self {
        case .fail: .fail
        case .overwrite: .replace
        case .skip, .resume: .skip
        }
    }
}
