import Deferred
import DeferredOperations
import Foundation
import Testing

#if canImport(LoopbackServer)
import LoopbackServer
#else
import FileServing
#endif

#if canImport(FoundationNetworking)
// For all files of these tests: only off Darwin are `URLRequest` and its like in a module of their own.
@_exported import FoundationNetworking
#endif

/// What answers, a queue and a folder for one test: on Foundation's transport, against a real server
/// (`TransferFixture`), or on a stub (`StubFixture`), on which a transfer that waits costs nothing.
protocol Fixture: AnyObject, Sendable {
    associatedtype Served
    var queue: OperationQueue { get }
    var folder: URL { get }
    var session: TransferSession { get }

    func url(_ path: String) -> URL
    func serve(_ path: String, _ answer: Served)
}

extension Fixture {
    /// Changes the request and the options that a test would have without it.
    typealias Change = (inout URLRequest, inout TransferOptions) -> Void
}

/// A server, a queue and a folder for one test.
final class TransferFixture: Fixture {
    let server: LoopbackServer
    let queue = OperationQueue()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("transfer-\(UUID())")
    let session: TransferSession

    /// Starts the server. Where it cannot be started, no test can run.
    init(serving answer: Answer? = nil, session: TransferSession = .shared) {
        self.session = session
        server = try! LoopbackServer()
        try! FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if let answer { server.route("/it", answer) }
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func url(_ path: String) -> URL { URL(string: server.url(path))! }
    func serve(_ path: String, _ answer: Answer) { server.route(path, answer) }

    /// The `Range` headers of the requests so far.
    var ranges: [String?] { server.requests.map { $0[header: "Range"] } }

    /// Waits until a request has been answered, or its transfer has paused: its connection is closed then.
    func untilServed() async {
        await server.waitForRequests(seen: 1)
        await server.waitUntilIdle()
    }

    /// Downloads, and expects so many bytes of the pattern at the destination, continued there, and nothing else.
    func expectDownload(
        of byteCount: Int, from first: Int = 0, resumedAt: Int64 = 0, _ answer: Answer? = nil,
        range: String? = nil, _ options: DownloadOptions = .init(resumes: true),
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) async throws {
        let file = try await download(answer, range: range, options).value
        #expect(
            file.byteCount == byteCount && file.resumedAt == resumedAt && file.url == self.file(),
            sourceLocation: sourceLocation)
        #expect(isPattern(byteCount, from: first) && names == ["it"], sourceLocation: sourceLocation)
    }

    /// Leaves a part file of 400 bytes.
    func leavePart(of total: Int = 1000, range: String? = nil) async {
        let breaking = Answer.resource(total, etag: "\"a\"", breakingOffAfter: 400)
        await expectFailure("truncated") {
            try await download(breaking, range: range, .init(resumes: true)).value
        }
        #expect(names == ["it.part", "it.part.from"])
    }
}

extension Fixture {
    func url() -> URL { url("/it") }

    // MARK: Loads

    /// Answers one path, and loads it.
    func request(
        _ answer: Served? = nil, path: String = "/it", _ change: Change = { _, _ in }
    ) -> Deferred<URLDataSource.Response> {
        if let answer { serve(path, answer) }
        var (request, options) = (URLRequest(url: url(path)), TransferOptions.patient)
        change(&request, &options)
        return URLDataSource(request, options: options, session: session).request(on: queue)
    }

    func load(_ answer: Served, _ change: Change = { _, _ in }) async throws -> URLDataSource.Response {
        try await request(answer, change).value
    }

    /// Answers one path, loads it, and returns the error.
    func failure(of answer: Served, _ change: Change = { _, _ in }) async -> any Error {
        switch await request(answer, change).result {
        case .success(let response):
            Unexpected(status: response.response.statusCode, body: response.data)
        case .failure(let error): error
        }
    }

    /// Answers one path, loads it, and returns the status failure that this ends in.
    func refusal(of answer: Served, _ change: Change = { _, _ in }) async throws
        -> DataSourceError.StatusFailure
    {
        let error = await failure(of: answer, change)
        guard case DataSourceError.status(let failure) = error else { throw error }
        return failure
    }

    // MARK: Downloads

    func file(_ name: String = "it") -> URL { folder.appendingPathComponent(name) }

    /// The names in the folder, sorted.
    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()) ?? ["?"]
    }

    func contents(_ name: String = "it") -> Data? { FileManager.default.contents(atPath: file(name).path) }

    func write(_ text: String, to name: String = "it") throws { try Data(text.utf8).write(to: file(name)) }

    /// Whether a file is so many bytes of the pattern.
    func isPattern(_ byteCount: Int, from first: Int = 0, _ name: String = "it") -> Bool {
        contents(name) == Data(Pattern.bytes(byteCount, from: first))
    }

    /// Answers one path, and downloads it.
    func download(
        _ answer: Served? = nil, path: String = "/it", to name: String = "it", range: String? = nil,
        _ options: DownloadOptions = .init(), transfer: TransferOptions = .patient
    ) -> Deferred<DownloadDataSource.File> {
        if let answer { serve(path, answer) }
        var request = URLRequest(url: url(path))
        request.setValue(range, forHTTPHeaderField: "Range")
        return DownloadDataSource(
            request, to: file(name), options: transfer, download: options, session: session
        )
        .request(on: queue)
    }
}

/// The answer where an error was expected.
private struct Unexpected: Error {
    let status: Int
    let body: Data
}

/// Expects that `body` throws a `DataSourceError`, of the case `name` if one is named, whose text contains `words`.
func expectFailure<Value>(
    _ name: String?, _ words: String = "", _ body: () async throws -> Value,
    sourceLocation: Testing.SourceLocation = #_sourceLocation
) async {
    let error = await #expect(throws: DataSourceError.self, sourceLocation: sourceLocation) {
        _ = try await body()
    }
    let actual = error.map { Mirror(reflecting: $0).children.first?.label ?? "\($0)" }
    #expect(actual == name ?? actual, "\(String(describing: error))", sourceLocation: sourceLocation)
    let text = error?.description ?? ""
    #expect(words.isEmpty || text.contains(words), "\(text)", sourceLocation: sourceLocation)
}

extension TransferOptions {
    /// For tests that are not about time, on busy machines: nothing times out.
    static var patient: TransferOptions { TransferOptions(silenceTimeout: .seconds(3600)) }
}

extension Data {
    var text: String { String(decoding: self, as: UTF8.self) }
}
