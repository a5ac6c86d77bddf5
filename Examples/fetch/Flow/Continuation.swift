import Deferred
import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A file at the destination, before the download.
struct LocalFile: Equatable, Sendable {
    let byteCount: Int64
    let modified: Date

    init(byteCount: Int64, modified: Date) {
        self.byteCount = byteCount
        self.modified = modified
    }

    /// Nil if there is no regular file at `url`, symbolic links followed.
    init?(_ url: URL) {
        var status = stat()
        guard stat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        byteCount = Int64(status.st_size)
        modified = Date(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }
}

/// What a server says about a file, in the headers of its answer to `HEAD`.
struct RemoteFile: Equatable, Sendable {
    /// Nil if the server does not say.
    var byteCount: Int64?
    var modified: Date?
    /// For `If-Range`: a strong entity tag, or the date of the last modification.
    var validator: String?

    init(byteCount: Int64? = nil, modified: Date? = nil, validator: String? = nil) {
        self.byteCount = byteCount
        self.modified = modified
        self.validator = validator
    }

    /// - Parameter storesAsSent: Whether a coding is left on the body.
    init(_ response: HTTPURLResponse, storesAsSent: Bool = false) {
        let date = response.value(forHTTPHeaderField: "Last-Modified")
        modified = date.flatMap(ServerDate.parse)
        validator = response.rangeValidator
        // The length of a compressed body is not the length of the file.
        guard storesAsSent || response.contentCodings.isEmpty else { return }
        byteCount = response.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
    }
}

/// How `--continue` treats a file at the destination.
struct Continuation: Sendable {
    enum Decision: Equatable, Sendable {
        /// The file is as long as the server's: it counts as done.
        case keep
        /// The file is the beginning of the server's; `validator` is for `If-Range`.
        case resume(validator: String)
        /// The file may be the beginning of something else, or the server does not say enough.
        case startOver
    }

    /// Decides what to do with `local`.
    ///
    /// - Throws: ``LongerThanServer`` if the local file is longer than the server's.
    static func decide(_ local: LocalFile, _ remote: RemoteFile) throws(LongerThanServer) -> Decision {
        guard let byteCount = remote.byteCount else { return .startOver }
        if local.byteCount == byteCount { return .keep }
        if local.byteCount > byteCount {
            throw LongerThanServer(local: local.byteCount, remote: byteCount)
        }
        // A server's file that is newer than the local one is likely to have another beginning.
        guard let modified = remote.modified, modified <= local.modified, let validator = remote.validator
        else { return .startOver }
        return .resume(validator: validator)
    }

    /// The next step of an attempt.
    enum Next: Sendable {
        case keep(StagedFile)
        /// Transfer the rest, or the whole if there is no part file, and check its length.
        case transfer(LengthCheck)
    }

    /// The request, and those to the mirrors.
    private let requests: [URLRequest]
    private let place: URL
    private let local: LocalFile
    private let limits: TransferOptions
    private let session: TransferSession
    private let watch: @Sendable (@escaping @Sendable () -> TransferMetrics) -> Void

    /// - Parameter watch: Receives what knows the status of each answer.
    init(
        _ requests: [URLRequest], _ place: URL, _ local: LocalFile, _ limits: TransferOptions,
        _ session: TransferSession,
        watch: @escaping @Sendable (@escaping @Sendable () -> TransferMetrics) -> Void = { _ in }
    ) {
        self.watch = watch
        self.requests = requests
        self.place = place
        self.local = local
        self.limits = limits
        self.session = session
    }

    /// Asks the server, decides, and prepares the part file if there is something to resume.
    func next(on queue: OperationQueue) -> Deferred<Next> {
        ask(requests[...], on: queue).then { request, remote, status in
            let lengthCheck = LengthCheck(
                request.url?.withoutUserInfo ?? place, local: local.byteCount, remote: remote.byteCount)
            switch try Self.decide(local, remote) {
            case .keep:
                return Deferred.resolved(
                    Next.keep(StagedFile(kept: place, byteCount: local.byteCount, status: status)))
            case .startOver:
                return Deferred.resolved(Next.transfer(lengthCheck))
            case .resume(let validator):
                return copyToPartFile(request, validator, on: queue).thenReturn(Next.transfer(lengthCheck))
            }
        }
    }

    /// Asks the first server; after an error, the next one.
    private func ask(
        _ requests: ArraySlice<URLRequest>, on queue: OperationQueue
    ) -> Deferred<(URLRequest, RemoteFile, status: Int?)> {
        let request = requests[requests.startIndex]
        // Of a part that the user asks for, the answer to HEAD says nothing.
        guard request.value(forHTTPHeaderField: "Range") == nil else {
            return .resolved((request, RemoteFile(), nil))
        }
        var head = request
        head.httpMethod = "HEAD"
        if head.value(forHTTPHeaderField: "Accept-Encoding") == nil {
            head.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        var limits = limits
        limits.onProgress = nil
        let others = requests.dropFirst()
        let source = URLDataSource(head, options: limits, session: session)
        watch { source.metrics }
        return source.request(on: queue)
            .map { [storesAsSent = limits.storesAsSent] answer in
                let remote = RemoteFile(answer.response, storesAsSent: storesAsSent)
                return (request, remote, answer.response.statusCode)
            }
            .orElse(DataSourceError.self) { error -> Deferred<(URLRequest, RemoteFile, status: Int?)> in
                if !others.isEmpty { return ask(others, on: queue) }
                // Not every server answers HEAD, and some fail; the GET that follows has the last word, unless the
                // server is busy or cannot be reached through a proxy: then HEAD is what is repeated.
                guard case .status(let failure) = error, ![408, 429, 502, 503, 504].contains(failure.code)
                else { throw error }
                return .resolved((request, RemoteFile(), nil))
            }
    }

    /// Copies the file to the part file, from which the download is then resumed. The file itself stays
    /// until the new one is whole.
    private func copyToPartFile(
        _ request: URLRequest, _ validator: String, on queue: OperationQueue
    ) -> Deferred<Void> {
        DataSource { operation in
            try DownloadDataSource.beginPartFile(
                for: place, with: request, validator: validator, unless: { operation.isCancelled })
        }.request(on: queue).done { _ in }
    }
}

/// The error of `--continue` when the file at the destination is longer than the server's.
struct LongerThanServer: Error, Equatable, CustomStringConvertible {
    let local: Int64
    let remote: Int64

    var description: String {
        "the file has \(local) bytes, the server's only \(remote); choose --overwrite to replace it"
    }
}
