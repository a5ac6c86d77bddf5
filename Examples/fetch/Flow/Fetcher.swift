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
    /// That of `--raw`, and of answers that are marked with a coding that is none and that Foundation refuses.
    private let sessionAsSent: TransferSession?
    private let names: RemoteNames
    /// Resolved when standard output has no reader any more; nil if nothing is written there.
    private let brokenOutput: Deferred<OutputDescriptor.Failure>?

    init(_ options: Options, _ log: EventLog, _ staging: StagingArea) {
        self.options = options
        self.log = log
        self.staging = staging
        brokenOutput = options.output == .standardOutput ? OutputDescriptor.standardOutput.whenBroken() : nil
        queue.maxConcurrentOperationCount = options.jobs
        session = options.bytesPerSecond.map { TransferSession(bytesPerSecond: $0) } ?? .shared
        sessionAsSent = .storingAsSent(bytesPerSecond: options.bytesPerSecond, cookiesOf: session)
        names = RemoteNames(options)
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
                isStreamed(download) ? streamed(request, download) : stored(request, download)
            }
            .limited(to: options.maximumTime)
            .recover(DataSourceError.self) { error in
                guard case .destinationExists(let file) = error, options.takesFirst || options.usesRemoteName
                else { throw error }
                throw FileExists(file: file)
            }
            .mapResult { result in
                log.end(download, result)
                return try result.get()
            }
    }

    /// Whether a download is written to standard output as it arrives.
    private func isStreamed(_ download: Download) -> Bool {
        download.destination == .standardOutput && download.checksum == nil && !options.isOneFile
    }

    /// Downloads to a file, with further attempts, and moves that to its destination.
    private func stored(_ request: URLRequest, _ download: Download) -> Deferred<Fetched> {
        let isWorthRepeating = DataSourceError.isWorthRepeating(request)
        return Deferred.retry(
            attempts: options.retries + 1, delay: delays(download), when: isWorthRepeating
        ) { number in
            log.ask(download, attempt: number)
            return attempt(request, download)
        }
        // Ends here: once all has been written, the reader of standard output may leave.
        .stopped(by: brokenOutput)
        .then { file in deliver(file, download) }
    }

    /// Writes to standard output what arrives. A further attempt asks for the rest of what has been written.
    private func streamed(_ request: URLRequest, _ download: Download) -> Deferred<Fetched> {
        let output = StreamedOutput(request)
        let isWorthRepeating = DataSourceError.isWorthRepeating(request)
        return Deferred.retry(
            attempts: options.retries + 1, delay: delays(download),
            when: { error in output.canContinue && isWorthRepeating(error) }
        ) { number in
            log.ask(download, attempt: number)
            return withFallback { asSent in transfer(to: output, asSent: asSent, download) }
        }
        .stopped(by: brokenOutput, unless: { output.isComplete })
    }

    private func transfer(
        to output: StreamedOutput, asSent: Bool, _ download: Download
    ) -> Deferred<Fetched> {
        let before = output.written
        var limits = limits(download, asSent: asSent)
        limits.onProgress = {
            log.receive(download, before + $0.received, of: $0.expected.map { before + $0 })
        }
        let check = codingCheck(output.request, limits)
        limits.validateResponse = { response in
            log.answer(download, response)
            try check(response)
            try output.begin(response)
        }
        let source = OutputSource(
            output, options: limits, session: asSent ? sessionAsSent ?? session : session)
        log.watch(download) { source.metrics }
        return source.request(on: queue).map { _ in Fetched(streamed: output.written, status: output.status) }
    }

    /// Makes one attempt. Under `--continue`, asks first what the server has if there is a file already.
    private func attempt(_ request: URLRequest, _ download: Download) -> Deferred<StagedFile> {
        Deferred(catching: { try staging.place(for: download) })
            .then { place -> Deferred<StagedFile> in
                guard options.existing == .resume, let local = LocalFile(place) else {
                    return transfer(request, to: place, existing: options.existing.whenDownloading, download)
                }
                let requests = [request] + download.mirrors.map { mirror in request.forMirror(mirror) }
                let continuation = Continuation(
                    requests, place, local, limits(download), session(limits(download)),
                    watch: { log.watch(download, $0) })
                return continuation.next(on: queue)
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
        withFallback { asSent in
            transfer(request, to: place, existing, lengthCheck, asSent: asSent, download)
        }
        .recover(Kept.self) { StagedFile(kept: .file($0.path), byteCount: $0.byteCount, status: $0.status) }
    }

    private func transfer(
        _ request: URLRequest, to place: URL, _ existing: DownloadDataSource.Existing,
        _ lengthCheck: LengthCheck?, asSent: Bool, _ download: Download
    ) -> Deferred<StagedFile> {
        var limits = limits(download, asSent: asSent)
        let check = codingCheck(request, limits)
        let newer = options.existing == .newer ? LocalFile(place).map { NewerCheck(place, $0) } : nil
        limits.ifModifiedSince = newer?.local.modified
        limits.validateResponse = { response in
            log.answer(download, response)
            try newer?.check(response)
            try check(response)
            lengthCheck?.receive(response)
            if options.usesRemoteName { try names.decide(response, download) }
        }
        var resumption = DownloadOptions(
            existing: existing, resumes: options.existing == .resume, mirrors: download.mirrors,
            verify: { part in
                try lengthCheck?.check(part)
                guard let checksum = download.checksum else { return }
                log.check(download)
                try checksum.check(part)
            })
        resumption.continuesOtherAddress = true
        let source = DownloadDataSource(
            request, to: place, options: limits, download: resumption, session: session(limits))
        log.watch(download) { source.metrics }
        return source.request(on: queue).map { StagedFile($0) }
    }

    /// Makes a transfer again, as it is sent, if the answer is marked with a coding that is none, and that Foundation
    /// takes for one that it does not know.
    private func withFallback<Value: Sendable>(
        _ transfer: @escaping @Sendable (_ asSent: Bool) -> Deferred<Value>
    ) -> Deferred<Value> {
        transfer(options.storesAsSent).orElse(CodingIsNone.self) { _ in transfer(true) }
    }

    /// Returns what checks the coding of an answer to a request.
    private func codingCheck(
        _ request: URLRequest, _ limits: TransferOptions
    ) -> @Sendable (HTTPURLResponse) throws -> Void {
        if limits.storesAsSent { return { _ in } }
        let (acceptsCodings, canStoreAsSent) = (request.acceptsCodings, sessionAsSent != nil)
        return { response in
            if canStoreAsSent { try CodingIsNone.check(response) }
            if !acceptsCodings { try UnaskedEncoding.check(response, canStoreAsSent: canStoreAsSent) }
        }
    }

    /// Checks the checksum of a file that was there before; that of a new one has been checked.
    private func checkedIfKept(_ file: StagedFile, _ download: Download) -> Deferred<StagedFile> {
        guard file.wasKept, let checksum = download.checksum else { return .resolved(file) }
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
            Deferred(catching: { try staging.putInPlace(file, names.path(of: download) ?? path) })
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

    private func session(_ limits: TransferOptions) -> TransferSession {
        limits.storesAsSent ? sessionAsSent ?? session : session
    }

    private func limits(_ download: Download, asSent: Bool? = nil) -> TransferOptions {
        var limits = TransferOptions()
        limits.storesAsSent = asSent ?? options.storesAsSent
        if !options.credentials.isEmpty {
            limits.onRedirect = { [credentials = options.credentials] redirect in
                .resolved(redirect.adding(credentials).map { .change($0) } ?? .follow)
            }
        }
        limits.silenceTimeout = options.timeout
        limits.maximumByteCount = options.maximumByteCount
        limits.onProgress = { log.receive(download, $0.received, of: $0.expected) }
        return limits
    }

    private func request(for download: Download) throws -> URLRequest {
        var request = URLRequest(url: try download.url.get())
        request.add(options.headers)
        request.add(options.credentials)
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
    ///
    /// - Parameter isComplete: Whether nothing is missing any more: then this outcome counts.
    fileprivate func stopped(
        by broken: Deferred<OutputDescriptor.Failure>?,
        unless isComplete: @escaping @Sendable () -> Bool = { false }
    ) -> Deferred<Value> {
        guard let broken else { return self }
        let whole = recover(CancellationError.self) { error -> Value in
            throw (try? broken.currentResult?.get()) ?? error
        }
        broken.done { _ in if !isComplete() { whole.cancel() } }
        return whole
    }
}

/// The error of a download that took longer than `--max-time`.
struct TookTooLong: Error, CustomStringConvertible {
    let limit: Duration
    var description: String { "not done after \(Amount.span(limit)) (--max-time)" }
}

/// The error of a file that exists, where neither `--continue` nor `--newer` is possible.
struct FileExists: Error, CustomStringConvertible {
    let file: URL
    var description: String { "'\(file.relativePath)' exists; choose --overwrite or --skip-existing" }
}

extension Options.Existing {
    /// What a download does with a file at the destination. (Under `--continue`, ``Continuation`` decides.)
    fileprivate var whenDownloading: DownloadDataSource.Existing {
        switch self {
        case .fail, .resume: .fail
        case .overwrite, .newer: .replace
        case .skip: .skip
        }
    }
}
