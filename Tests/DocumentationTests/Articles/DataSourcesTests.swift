import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite final class DataSourcesTests: TransferArticle, @unchecked Sendable {
    let eventLog = SharedLog<String>()

    @Test("Data sources: work that ends when a function returns")
    func work() async throws {
        let (queue, print) = (queue, print)
        let sum = DataSource { operation in
            var sum = 0
            for number in 1...1000 {
                if operation.isCancelled { throw CancellationError() }
                sum += number
            }
            return sum
        }
        sum.request(on: queue, deliveringOn: .main)
            .done { print("the sum is \($0)") }
        #expect(try await shown.get().value == "the sum is 500500")
    }

    @Test("Data sources: a closure on a queue")
    func closure() async throws {
        let file = folder.appending(path: "file")
        try Data("text".utf8).write(to: file)
        let show: @Sendable (Data) -> Void = show
        queue.deferred { try Data(contentsOf: file) }
            .done(on: .main) { show($0) }
        #expect(try await shown.get().value == "text")
    }

    private struct Connection: Sendable {
        func ask(_ question: String, _ answer: (String) -> Void) { answer("well") }
        func close() {}
    }

    @Test("Data sources: work that ends later")
    func later() async throws {
        let (connection, print) = (Connection(), print)
        let answer = ConcurrentDataSource<String>(stop: { connection.close() }) { resolver in
            connection.ask("How are you?") { resolver.resolve($0) }
        }
        answer.request(on: queue).done { print($0) }
        #expect(try await shown.get().value == "well")
    }

    @Test("Data sources: loading, and failing to")
    func loading() async throws {
        server.route("/page", .text("a page"))
        let screen = Screen(show)
        screen.load(url("/page"), on: queue)
        #expect(try await shown.get().value == "a page")
        screen.load(url("/nothing"), on: queue)
        #expect(try await shown.get().value.contains("404"))
    }

    private struct Screen: Sendable {
        let draw: @Sendable (Data) -> Void
        init(_ draw: @escaping @Sendable (Data) -> Void) { self.draw = draw }

        func show(_ data: Data) { draw(data) }
        func show(_ error: any Error) { draw(Data("\(error)".utf8)) }

        func load(_ address: URL, on queue: OperationQueue) {
            URLDataSource(address).request(on: queue, deliveringOn: .main)
                .done { page in show(page.data) }
                .fail { error in show(error) }
        }
    }

    final class CachedDataSource: URLDataSource, @unchecked Sendable {
        private static let kept = Mutex<[URL: Response]>([:])

        func load(on queue: OperationQueue) -> Deferred<Response> {
            request(on: queue).map { [urlRequest] response in
                if let url = urlRequest.url { Self.kept.withLock { $0[url] = response } }
                return response
            }
        }

        override func execute() throws {
            if let url = urlRequest.url, let response = Self.kept.withLock({ $0[url] }) {
                finish(with: .success(response))
            } else {
                try super.execute()
            }
        }
    }

    @Test("Data sources: a cache of its own")
    func cache() async throws {
        server.route("/page", .text("a page"))
        let (address, show) = (url("/page"), show)
        for _ in 0..<2 {
            CachedDataSource(address).load(on: queue)
                .done { page in show(page.data) }
            #expect(try await shown.get().value == "a page")
        }
        #expect(server.requests.count == 1)
    }

    @Test("Data sources: options")
    func options() async throws {
        server.route("/page", .text("a page"))
        let (address, print) = (url("/page"), print)
        var options = TransferOptions()
        options.maximumByteCount = 1_000_000
        options.silenceTimeout = .seconds(10)
        options.onProgress = { progress in print("\(progress.received) bytes so far") }
        let page = URLDataSource(address, options: options).request(on: queue)
        #expect(try await page.value.data.count == 6)
        while try await shown.get().value != "6 bytes so far" {}
    }

    @Test("Data sources: JSON")
    func json() async throws {
        server.route("/repositories", .json(#"[{"name": "Deferred"}]"#))
        let address = url("/repositories")
        struct Repository: Decodable {
            let name: String
        }

        let repositories = JSONDataSource<[Repository]>(address).request(on: queue)
        #expect(try await repositories.value.map(\.name) == ["Deferred"])
    }

    @Test("Data sources: a download")
    func download() async throws {
        server.route("/file", .text("twelve bytes"))
        let (address, file, print) = (url("/file"), folder.appending(path: "file"), print)
        DownloadDataSource(address, to: file, options: .init(existing: .replace)).request(on: queue)
            .done { file in print("\(file.byteCount) bytes in \(file.url.lastPathComponent)") }
        #expect(try await shown.get().value == "12 bytes in file")
    }

    @Test("Data sources: a body in pieces")
    func stream() async throws {
        server.route("/file", .text("twelve bytes"))
        let address = url("/file")
        let source = StreamDataSource(address)
        let request = source.request(on: queue)
        var byteCount = 0
        for try await piece in source.body { byteCount += piece.count }
        #expect(byteCount == 12)
        #expect(try await request.value.byteCount == 12)
    }

    @Test("Data sources: a manager")
    func manager() async throws {
        let addresses = (1...5).map { url("/\($0)") }
        for number in 1...5 { server.route("/\(number)", .text("\(number)")) }
        let manager = DataSourceManager(limit: 8, limitPerHost: 2)
        let pages = addresses.map { manager.request(URLDataSource($0)) }
        #expect(try await DeferredList(pages).values().value.count == 5)
        try await manager.stop().value
        #expect(server.mostRequestsUnderWay <= 2)
    }

    @Test("Data sources: trying again")
    func retrying() async throws {
        server.route("/flaky", .status(503, headers: [("Retry-After", "0")]), .text("a page"))
        let request = URLRequest(url: url("/flaky"))
        let queue = queue
        let page = Deferred.retry(
            attempts: 5, delay: .retryAfter(), when: DataSourceError.isWorthRepeating(request)
        ) {
            URLDataSource(request).request(on: queue)
        }
        #expect(try await page.value.data.count == 6)
    }
}
