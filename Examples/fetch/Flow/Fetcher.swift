import Deferred
import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Fetches URLs into files: the whole flow, as one chain of Deferreds.
///
/// - ``fetchAll(_:)``: all downloads, a limited number at a time;
/// - ``fetch(_:)``: one download, with its retries, its time limit and the entries in the event log;
/// - ``attempt(_:_:)``: one attempt, an operation on the queue.
///
/// Cancelling the Deferred at the top cancels everything below it.
struct Fetcher: Sendable {
    private let options: Options
    private let log: EventLog
    private let staging: StagingArea
    private let queue = OperationQueue()
    private let session: TransferSession
    /// Resolved when standard output has no reader any more; nil if nothing is written there.
    private let brokenOutput: Deferred<OutputDescriptor.Failure>?

    init(_ options: Options, _ log: EventLog, _ staging: StagingArea) {
        self.options = options
        self.log = log
        self.staging = staging
        brokenOutput = options.output == .standardOutput ? OutputDescriptor.standardOutput.whenBroken() : nil
        queue.maxConcurrentOperationCount = options.jobs
        session = options.bytesPerSecond.map { TransferSession(bytesPerSecond: $0) } ?? .shared
    }

    /// Fetches all `downloads`.
    ///
    /// With `--fail-fast`, the first failure ends it; with `--first`, the first success. The others are
    /// then cancelled. Otherwise the Deferred resolves when all downloads have ended, whatever their
    /// outcomes.
    func fetchAll(_ downloads: [Download]) -> Deferred<Void> {
        let list = DeferredList(
            downloads, limit: options.jobs, consumesErrors: true, cancelsRemaining: true, fetch)
        return if options.takesFirst {
            list.first().done { _ in }
        } else if options.failsFast {
            list.values().done { _ in }
        } else {
            list.results().done { _ in }
        }
    }

    /// Fetches one download, with further attempts after transient errors.
    func fetch(_ download: Download) -> Deferred<Fetched> {
        log.begin(download)
        return Deferred(catching: { try request(for: download) })
            .then { request in
                Deferred.retry(
                    attempts: options.retries + 1, delay: delays(download),
                    when: DataSourceError.isWorthRepeating(request)
                ) { number in
                    log.ask(download, attempt: number)
                    return attempt(request, download)
                }
            }
            // Ends here: once all has been written, the reader of standard output may leave.
            .stopped(by: brokenOutput)
            .then { file in deliver(file, download) }
            .limited(to: options.maximumTime)
            .mapResult { result in
                log.end(download, result)
                return try result.get()
            }
    }

    /// Makes one attempt. Under `--continue`, asks first what the server has if there is a file already.
    private func attempt(_ request: URLRequest, _ download: Download) -> Deferred<StagedFile> {
        Deferred(catching: { try staging.place(for: download) })
            .then { place -> Deferred<StagedFile> in
                guard options.existing == .resume, let local = LocalFile(place) else {
                    return transfer(request, to: place, existing: options.existing.whenDownloading, download)
                }
                let requests = [request] + download.mirrors.map { mirror in request.redirected(to: mirror) }
                return Continuation(requests, place, local, limits(download), session).next(on: queue)
                    .then { next -> Deferred<StagedFile> in
                        switch next {
                        case .keep(let file): .resolved(file)
                        case .transfer(let lengthCheck):
                            transfer(request, to: place, existing: .replace, checking: lengthCheck, download)
                        }
                    }
            }
            .then { file in checkedIfKept(file, download) }
    }

    private func transfer(
        _ request: URLRequest, to place: URL, existing: DownloadDataSource.Existing,
        checking lengthCheck: LengthCheck? = nil, _ download: Download
    ) -> Deferred<StagedFile> {
        var limits = limits(download)
        let acceptsEncodings = request.value(forHTTPHeaderField: "Accept-Encoding") != nil
        limits.validateResponse = { response in
            log.answer(download, status: response.statusCode)
            if !acceptsEncodings { try UnaskedEncoding.check(response) }
            lengthCheck?.receive(response)
        }
        return DownloadDataSource(
            request, to: place,
            options: limits,
            download: .init(
                existing: existing, resumes: options.existing == .resume, mirrors: download.mirrors,
                verify: { [checksum = options.checksum] part in
                    try lengthCheck?.check(part)
                    guard let checksum else { return }
                    log.check(download)
                    try checksum.check(part)
                }), session: session
        ).request(on: queue).map { StagedFile($0) }
    }

    /// Checks the checksum of a file that was there before; that of a new one has been checked.
    private func checkedIfKept(_ file: StagedFile, _ download: Download) -> Deferred<StagedFile> {
        guard file.wasKept, let checksum = options.checksum else { return .resolved(file) }
        log.check(download)
        return DataSource { operation in
            try checksum.check(file.url, unless: { operation.isCancelled })
            return file
        }.request(on: queue)
    }

    /// Moves a whole file into place, or writes it to standard output, a pipe or a device.
    ///
    /// The reader of a pipe may be slow, so that writing to one is an operation of its own.
    private func deliver(_ file: StagedFile, _ download: Download) -> Deferred<Fetched> {
        switch download.destination {
        case .file(let path):
            Deferred(catching: { try staging.putInPlace(file, path) })
        case .standardOutput:
            copy(file, to: nil)
        case .stream(let path):
            copy(file, to: path)
        }
    }

    private func copy(_ file: StagedFile, to path: String?) -> Deferred<Fetched> {
        DataSource { operation in
            try staging.copy(file, to: path, unless: { operation.isCancelled })
        }.request(on: queue)
    }

    private func limits(_ download: Download) -> TransferOptions {
        var limits = TransferOptions()
        limits.silenceTimeout = options.timeout
        limits.maximumByteCount = options.maximumByteCount
        limits.onProgress = { log.receive(download, $0.received, of: $0.expected) }
        return limits
    }

    private func request(for download: Download) throws -> URLRequest {
        var request = URLRequest(url: try download.url.get())
        for header in options.headers { request.addValue(header.value, forHTTPHeaderField: header.name) }
        return request
    }

    /// Returns the library's delays, each of which is entered in the event log.
    private func delays(_ download: Download) -> RetryDelay {
        let delays = RetryDelay.retryAfter(first: .milliseconds(500), maximum: .seconds(30))
        return .custom { attempt, error in
            let delay = delays.delay(afterAttempt: attempt, error)
            log.pause(download, error, delay: delay, triesLeft: options.retries + 1 - attempt)
            return delay
        }
    }

    /// Returns when no operation is running any more, cancelled ones included.
    func waitUntilIdle() {
        queue.waitUntilAllOperationsAreFinished()
    }
}

extension Deferred {
    /// Returns this Deferred with a time limit, if there is one.
    fileprivate func limited(to time: Duration?) -> Deferred<Value> {
        guard let time else { return self }
        return timeout(time) { throw TookTooLong(limit: time) }
    }

    /// Returns this outcome, unless `broken` is resolved first: then that is the error, and this is
    /// cancelled.
    fileprivate func stopped(by broken: Deferred<OutputDescriptor.Failure>?) -> Deferred<Value> {
        guard let broken else { return self }
        let whole = recover(CancellationError.self) { error -> Value in
            throw (try? broken.currentResult?.get()) ?? error
        }
        broken.done { _ in whole.cancel() }
        return whole
    }
}

/// The error of a download that took longer than `--max-time`.
struct TookTooLong: Error, CustomStringConvertible {
    let limit: Duration
    var description: String { "not done after \(Amount.span(limit)) (--max-time)" }
}

/// The error of an answer that is compressed although that was not asked for. Foundation would unpack it: the
/// file would not be the server's, and could be any number of times as large.
struct UnaskedEncoding: Error, CustomStringConvertible {
    let encoding: String

    var description: String {
        "compressed (\(encoding)), which was not asked for; -H 'Accept-Encoding: \(encoding)' stores it unpacked"
    }

    static func check(_ response: HTTPURLResponse) throws(UnaskedEncoding) {
        let encoding = response.value(forHTTPHeaderField: "Content-Encoding")?.lowercased() ?? ""
        if !["", "identity"].contains(encoding) { throw UnaskedEncoding(encoding: encoding) }
    }
}

extension URLRequest {
    /// Returns this request for another address.
    fileprivate func redirected(to url: URL) -> URLRequest {
        var request = self
        request.url = url
        return request
    }
}

extension Options.Existing {
    /// What a download does with a file at the destination. (Under `--continue`, ``Continuation`` decides.)
    fileprivate var whenDownloading: DownloadDataSource.Existing {
        switch self {
        case .fail, .resume: .fail
        case .overwrite: .replace
        case .skip: .skip
        }
    }
}
