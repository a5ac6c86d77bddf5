import Deferred
import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Reads bodies in pieces to their end, and counts the bytes.
enum Streaming {
    /// Reads each with `StreamDataSource`, as a sequence.
    static func withSequences(_ work: FetchArguments) async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = work.atOnce
        try await forEach(work) { url in
            let source = StreamDataSource(url)
            let request = source.request(on: queue)
            var byteCount: Int64 = 0
            for try await piece in source.body { byteCount += Int64(piece.count) }
            return try await (byteCount, request.value.byteCount)
        }
    }

    /// Reads each with `StreamDataSource`, through calls on a queue of its own.
    static func withCalls(_ work: FetchArguments) async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = work.atOnce
        try await forEach(work) { url in
            let count = Count()
            let summary = try await StreamDataSource(url) { count.add($0.count) }.request(on: queue).value
            return (count.value, summary.byteCount)
        }
    }

    /// Runs as many at once as the job says. Each returns the number of bytes that it counted, and the number
    /// expected.
    private static func forEach(
        _ work: FetchArguments, _ body: @escaping @Sendable (URL) async throws -> (Int64, Int64)
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, url) in work.urls.enumerated() {
                if index >= work.atOnce { try await group.next() }
                group.addTask {
                    let (counted, announced) = try await body(url)
                    guard counted == announced, counted > 0 else { throw Incomplete() }
                }
            }
            try await group.waitForAll()
        }
    }

    struct Incomplete: Error {}

    /// Sound as `@unchecked Sendable`: the calls are serial.
    private final class Count: @unchecked Sendable {
        private(set) var value: Int64 = 0
        func add(_ byteCount: Int) { value += Int64(byteCount) }
    }
}

/// The same with URLSession alone: a data task for each body, whose delegate counts.
///
/// Sound as `@unchecked Sendable`: mutable properties are accessed only under `lock`.
final class PlainStreams: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let work: FetchArguments
    private let lock = NSLock()
    private var session: URLSession?
    private var next = 0
    private var unfinished: Int
    private var counts: [Int: Int64] = [:]
    private var continuation: CheckedContinuation<Void, any Error>?

    init(_ work: FetchArguments) {
        self.work = work
        unfinished = work.urls.count
        super.init()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpMaximumConnectionsPerHost = 10_000
        session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
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
        if let url { session?.dataTask(with: url).resume() }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { counts[dataTask.taskIdentifier, default: 0] += Int64(data.count) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let isWhole = lock.withLock { counts[task.taskIdentifier] } == task.countOfBytesExpectedToReceive
        end(error ?? (isWhole ? nil : Streaming.Incomplete()))
    }

    private func end(_ error: (any Error)?) {
        let finished = lock.withLock { () -> CheckedContinuation<Void, any Error>? in
            unfinished -= 1
            guard error != nil || unfinished == 0 else { return nil }
            defer { continuation = nil }
            return continuation
        }
        if let error { finished?.resume(throwing: error) } else { finished?.resume() }
        beginNext()
    }
}
