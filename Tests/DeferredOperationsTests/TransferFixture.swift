import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

#if canImport(FoundationNetworking)
// For all files of these tests: only off Darwin are `URLRequest` and its like in a module of their own.
@_exported import FoundationNetworking
#endif

/// A server, a queue and a folder for one test.
final class TransferFixture: Sendable {
    let server: LoopbackServer
    let queue = OperationQueue()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("transfer-\(UUID())")

    /// Starts the server. Where it cannot be started, no test can run.
    init() {
        server = try! LoopbackServer()
        try! FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func url(_ path: String) -> URL { URL(string: server.url(path))! }

    func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    /// The names in the folder, sorted.
    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()) ?? ["?"]
    }

    /// Answers one path, loads it, and returns the error.
    func failure(
        of answer: Answer, _ change: (inout URLRequest, inout TransferOptions) -> Void = { _, _ in }
    ) async -> any Error {
        server.route("/it", answer)
        var request = URLRequest(url: url("/it"))
        var options = TransferOptions.patient
        change(&request, &options)
        switch await URLDataSource(request, options: options).request(on: queue).result {
        case .success(let response):
            return Unexpected(status: response.response.statusCode, body: response.data)
        case .failure(let error): return error
        }
    }

    /// Answers one path, loads it, and returns the status failure that this ends in.
    func refusal(
        of answer: Answer, _ change: (inout URLRequest, inout TransferOptions) -> Void = { _, _ in }
    ) async throws -> DataSourceError.StatusFailure {
        let error = await failure(of: answer, change)
        guard case DataSourceError.status(let failure) = error else { throw error }
        return failure
    }

    /// Answers one path, and downloads it.
    func download(
        _ answer: Answer? = nil, path: String = "/it", to name: String = "it", range: String? = nil,
        _ options: DownloadOptions = .init(), transfer: TransferOptions = .patient
    ) -> Deferred<DownloadDataSource.File> {
        if let answer { server.route(path, answer) }
        var request = URLRequest(url: url(path))
        request.setValue(range, forHTTPHeaderField: "Range")
        return DownloadDataSource(request, to: file(name), options: options, transfer: transfer)
            .request(on: queue)
    }

    /// Waits until a request has been answered, or its transfer has paused: its connection is closed then.
    func untilServed() async {
        await server.waitForRequests(seen: 1)
        await server.waitUntilIdle()
    }

    func contents(_ name: String = "it") -> Data? { FileManager.default.contents(atPath: file(name).path) }

    /// The `Range` headers of the requests so far.
    var ranges: [String?] { server.requests.map { $0[header: "Range"] } }

    struct Unexpected: Error {
        let status: Int
        let body: Data
    }

    func load(
        _ answer: Answer, _ change: (inout URLRequest, inout TransferOptions) -> Void = { _, _ in }
    ) async throws -> URLDataSource.Response {
        server.route("/it", answer)
        var request = URLRequest(url: url("/it"))
        var options = TransferOptions.patient
        change(&request, &options)
        return try await URLDataSource(request, options: options).request(on: queue).value
    }
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
    static var patient: TransferOptions {
        let options = TransferOptions(silenceTimeout: .seconds(3600))
        return options
    }
}

extension Data {
    var text: String { String(decoding: self, as: UTF8.self) }
}
