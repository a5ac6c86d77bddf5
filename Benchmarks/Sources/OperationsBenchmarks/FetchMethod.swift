import Deferred
import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An implementation of fetching inside this program.
enum FetchMethod: String {
    case operations, session
    /// Reads bodies in pieces and saves nothing.
    case sequence, calls, delegate

    func run(_ work: FetchArguments) async throws {
        switch self {
        case .operations: try await Self.fetchWithOperations(work)
        case .session: try await PlainSession(work).run()
        case .sequence: try await Streaming.withSequences(work)
        case .calls: try await Streaming.withCalls(work)
        case .delegate: try await PlainStreams(work).run()
        }
    }

    private static func fetchWithOperations(_ work: FetchArguments) async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = work.atOnce
        _ = try await DeferredList(work.urls, limit: work.atOnce) { url in
            DownloadDataSource(url, to: work.file(for: url)).request(on: queue)
        }
        .values().value
    }
}

/// The same with URLSession alone: a download task for each file, which is moved into place when it is
/// complete.
///
/// Sound as `@unchecked Sendable`: mutable properties are accessed only under `lock`.
private final class PlainSession: @unchecked Sendable {
    private let work: FetchArguments
    private let session: URLSession
    private let lock = NSLock()
    private var next = 0
    private var unfinished: Int
    private var continuation: CheckedContinuation<Void, any Error>?

    init(_ work: FetchArguments) {
        self.work = work
        unfinished = work.urls.count
        // The same configuration as `TransferSession.shared`.
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpMaximumConnectionsPerHost = 10_000
        session = URLSession(configuration: configuration)
    }

    func run() async throws {
        try await withCheckedThrowingContinuation { continuation in
            lock.withLock { self.continuation = continuation }
            for _ in 0..<work.atOnce { beginNext() }
        }
    }

    private func beginNext() {
        let url = lock.withLock { () -> URL? in
            guard next < work.urls.count else { return nil }
            next += 1
            return work.urls[next - 1]
        }
        guard let url else { return }
        var request = URLRequest(url: url)
        request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        session.downloadTask(with: request) { [self] file, response, error in
            end(
                Result {
                    guard let file, (response as? HTTPURLResponse)?.statusCode == 200 else {
                        throw error ?? URLError(.badServerResponse)
                    }
                    try FileManager.default.moveItem(at: file, to: work.file(for: url))
                })
        }
        .resume()
    }

    private func end(_ result: Result<Void, any Error>) {
        let finished = lock.withLock { () -> CheckedContinuation<Void, any Error>? in
            unfinished -= 1
            if case .success = result, unfinished > 0 { return nil }
            defer { continuation = nil }
            return continuation
        }
        finished?.resume(with: result)
        beginNext()
    }
}
