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

final class TokenAdapter: Sendable {
    private let token: Mutex<String>
    private let renewals = DeferredCache<String, String>(keepingFor: .seconds(60))
    private let renew: @Sendable () -> Deferred<String>

    init(token: String, renew: @escaping @Sendable () -> Deferred<String>) {
        self.token = Mutex(token)
        self.renew = renew
    }

    func dataSource(for request: URLRequest) -> URLDataSource {
        var request = request
        let (host, sent) = (request.url?.host, token.withLock { $0 })
        request.setValue("Bearer \(sent)", forHTTPHeaderField: "Authorization")
        var options = TransferOptions()
        options.onChallenge = { [self] challenge in
            // Not for another host, where a redirect may lead; and not again, if the renewed token is refused too.
            guard challenge.request.url?.host == host, challenge.attempt == 1 else { return .resolved(nil) }
            return renewedToken(after: sent).map { challenge.answered(authorization: "Bearer \($0)") }
        }
        return URLDataSource(request, options: options)
    }

    private func renewedToken(after refused: String) -> Deferred<String> {
        let latest = token.withLock { $0 }
        if latest != refused { return .resolved(latest) }
        return renewals.value(for: refused) {
            renew().map { [self] renewed in
                token.withLock { $0 = renewed }
                return renewed
            }
        }
    }
}

@Suite final class ControllingTransfersTests: TransferArticle, @unchecked Sendable {
    private final class Parser: Sendable {
        private let counts = SharedLog<Int>()
        var byteCount: Int { counts.all.reduce(0, +) }
        func consume(_ piece: Data) { counts.add(piece.count) }
    }

    @Test("Controlling transfers: bodies in pieces")
    func pieces() async throws {
        server.route("/body", .pattern(1_000_000))
        let (address, parser, print) = (url("/body"), Parser(), print)
        let source = StreamDataSource(address)
        let request = source.request(on: queue)
        for try await piece in source.body {
            parser.consume(piece)
        }
        print("\(try await request.value.byteCount) bytes")
        #expect(try await shown.get().value == "1000000 bytes")
        let parsing = DispatchQueue(label: "parsing")
        StreamDataSource(address, on: parsing) { piece in parser.consume(piece) }
            .request(on: queue)
            .done { summary in print("\(summary.byteCount) bytes") }
        #expect(try await shown.get().value == "1000000 bytes")
        #expect(parser.byteCount == 2_000_000)
    }

    @Test("Controlling transfers: downloads that are verified")
    func verified() async throws {
        server.route("/first", .truncated(after: 4, of: 9))
        server.route("/second", .text("the whole"))
        let (address, mirrors, expected) = (url("/first"), [url("/second")], "elohw eht")
        let (file, print) = (folder.appending(path: "file"), print)
        @Sendable func checksum(of file: URL) throws -> String {
            String(String(decoding: try Data(contentsOf: file), as: UTF8.self).reversed())
        }
        let options = DownloadOptions(mirrors: mirrors, expectedByteCount: 9) { part in
            let actual = try checksum(of: part)
            guard actual == expected else {
                throw DataSourceError.checksumMismatch(address, expected: expected, actual: actual)
            }
        }
        DownloadDataSource(address, to: file, options: options).request(on: queue)
            .done { file in print("\(file.byteCount) bytes, verified") }
        #expect(try await shown.get().value == "9 bytes, verified")
    }

    private struct UnexpectedType: Error {
        let type: String?
        init(_ type: String?) { self.type = type }
    }

    @Test("Controlling transfers: redirects and validation")
    func redirects() async throws {
        server.route("/from", .redirect(to: "http://example.org/"))
        server.route("/text", .text("text"))
        var options = TransferOptions()
        options.onRedirect = { redirect in
            let (from, to) = (redirect.request.url, redirect.next.url)
            return .resolved(from?.host == to?.host && from?.port == to?.port ? .follow : .stop)
        }
        options.validateResponse = { response in
            guard response.mimeType == "application/json" else { throw UnexpectedType(response.mimeType) }
        }
        let redirected = URLDataSource(url("/from"), options: options).request(on: queue)
        let stopped = await #expect(throws: DataSourceError.self) { try await redirected.value }
        guard case .status(let failure) = stopped else {
            Issue.record("\(String(describing: stopped))")
            return
        }
        #expect(failure.code == 302)
        let text = URLDataSource(url("/text"), options: options).request(on: queue)
        let wrong = await #expect(throws: UnexpectedType.self) { try await text.value }
        #expect(wrong?.type == "text/plain")
    }

    /// Answers requests that have the token.
    private func guarded(by token: String) {
        server.route("/guarded") { request in
            request[header: "Authorization"] == "Bearer \(token)" ? .text("in") : .status(401)
        }
    }

    @Test("Controlling transfers: requests that are refused at once share one renewal of the token")
    func tokens() async throws {
        guarded(by: "new")
        let renewals = SharedLog<String>()
        let renewal = Deferred<String>()
        let adapter = TokenAdapter(token: "old") {
            renewals.add("renewed")
            return renewal.shielded()
        }
        // Gets an element when a request waits for the renewal.
        let waiting = DeferredQueue<Void>()
        let requests = (0..<8).map { _ in
            let source = adapter.dataSource(for: URLRequest(url: url("/guarded")))
            var options = source.options
            options.onChallenge = { [onChallenge = options.onChallenge] challenge in
                defer { try? waiting.put(()) }
                return try onChallenge?(challenge) ?? .resolved(nil)
            }
            return URLDataSource(source.urlRequest, options: options).request(on: queue)
        }
        for _ in requests { try await waiting.get().value }
        requests[0].cancel()
        renewal.resolve("new")
        await #expect(throws: CancellationError.self) { try await requests[0].value }
        for request in requests.dropFirst() {
            #expect(try await request.value.data == Data("in".utf8))
        }
        #expect(renewals.all.count == 1)
        let later = try await adapter.dataSource(for: URLRequest(url: url("/guarded"))).request(on: queue)
            .value
        #expect(later.data == Data("in".utf8) && server.requests.count == 8 + 7 + 1)
    }

    @Test("Controlling transfers: a token is not sent to another host that a redirect leads to")
    func otherHost() async throws {
        guarded(by: "new")
        let other = try LoopbackServer()
        defer { other.stop() }
        other.route("/", .status(401))
        server.route("/moved", .redirect(to: "http://localhost:\(other.port)/"))
        let adapter = TokenAdapter(token: "old") { .resolved("new") }
        await #expect(throws: DataSourceError.self) {
            try await adapter.dataSource(for: URLRequest(url: url("/moved"))).request(on: queue).value
        }
        #expect(other.requests.map { $0[header: "Authorization"] } == [nil])
    }

    @Test("Controlling transfers: a request that is refused after the renewal uses the new token, once")
    func refusedLate() async throws {
        guarded(by: "new")
        let renewals = SharedLog<String>()
        let adapter = TokenAdapter(token: "old") {
            renewals.add("renewed")
            return .resolved("new")
        }
        let late = adapter.dataSource(for: URLRequest(url: url("/guarded")))
        for source in [adapter.dataSource(for: URLRequest(url: url("/guarded"))), late] {
            #expect(try await source.request(on: queue).value.data == Data("in".utf8))
        }
        #expect(renewals.all.count == 1)

        guarded(by: "another")
        let refused = adapter.dataSource(for: URLRequest(url: url("/guarded")))
        await #expect(throws: DataSourceError.self) { try await refused.request(on: queue).value }
        #expect(server.requests.count == 4 + 2)
    }

    @Test("Controlling transfers: uploads")
    func uploads() async throws {
        server.route("/post", .echo)
        server.route("/moved", .redirect(to: "/post", status: 307))
        let (photo, show) = (folder.appending(path: "photo.jpg"), show)
        try Data("a picture".utf8).write(to: photo)
        var post = URLRequest(url: url("/moved"))
        post.httpMethod = "POST"
        var options = TransferOptions()
        var form = MultipartForm()
        form.add("title", "Holidays")
        form.add("photo", file: photo, contentType: "image/jpeg")
        options.uploadForm = form
        URLDataSource(post, options: options).request(on: queue)
            .done { answer in show(answer.data) }
        #expect(try await shown.get().value.contains("a picture"))

        let body = Data("a stream".utf8)
        options = TransferOptions()
        options.makeBodyStream = { InputStream(data: body) }
        let answer = try await URLDataSource(post, options: options).request(on: queue).value
        #expect(String(decoding: answer.data, as: UTF8.self).hasSuffix("a stream"))
    }
}
