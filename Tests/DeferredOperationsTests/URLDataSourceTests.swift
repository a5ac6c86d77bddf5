import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite(.watchdog(atOnce: .few))
struct URLDataSourceTests {
    let fixture = TransferFixture()

    @Test("The case of a scheme does not matter, in a redirect neither", arguments: ["HTTP", "Http"])
    func scheme(_ scheme: String) async throws {
        let address = fixture.url("/target").absoluteString.replacingOccurrences(of: "http", with: scheme)
        fixture.server.route("/target", .text("hello"))
        for url in [URL(string: address), fixture.url()] {
            let page = try await fixture.load(.redirect(to: address)) { request, _ in request.url = url }
            #expect(page.data.text == "hello")
        }
    }

    @Test("An address of IPv6 is reached, and the answer is known by the name that was asked for")
    func ipv6() async throws {
        guard let server = try? LoopbackServer(family: .ipv6) else { return }
        server.route("/it", .echo)
        server.route("/from", .redirect(to: "/it"))
        func load(_ path: String) -> Deferred<URLDataSource.Response> {
            fixture.request { request, _ in request.url = URL(string: server.url(path)) }
        }
        for path in ["/it", "/from"] {
            let page = try await load(path).value
            #expect(page.data.text.contains("\r\nHost: [::1]:\(server.port)\r\n"))
            #expect(page.response.url == URL(string: server.url("/it")) && page.response.statusCode == 200)
            #expect(page.response.value(forHTTPHeaderField: "content-type") == "text/plain")
        }
        await expectFailure("status", server.url("/none") + ": 404") { try await load("/none").value }
    }

    @Test(
        "O13: an address is reached in any spelling, and the answer is known by the one that was asked for",
        arguments: [
            "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
            "017700000001",
            "0X7F.0.0.0x1", "[0:0:0:0:0:0:0:1]", "[0::1]", "[::0001]", "[::0.0.0.1]", "[::FFFF:127.0.0.1]",
        ])
    func spellings(_ host: String) async throws {
        let isIPv6 = host.hasPrefix("[") && !host.contains("FFFF")
        guard let server = try? LoopbackServer(family: isIPv6 ? .ipv6 : .ipv4) else { return }
        server.route("/it", .echo)
        let url = URL(string: "http://\(host):\(server.port)/it")
        let page = try await fixture.request { request, _ in request.url = url }.value
        #expect(page.response.url == url && page.data.text.hasPrefix("GET /it "))
    }

    @Test("O13: what is no address is refused, with the reason")
    func noAddress() async {
        for (host, name, words) in [
            ("[fe80::1%25lo]", "invalidRequest", "Foundation cannot send it to an address with a zone"),
            ("127.0.0.256", "cannotConnect", "resolve"), ("0x100000000", "cannotConnect", "resolve"),
        ] {
            await expectFailure(name, words) {
                try await fixture.request { request, _ in request.url = URL(string: "http://\(host):1/") }
                    .value
            }
        }
    }

    @Test("Method, headers and body arrive as they were given", arguments: ["POST", "PUT", "DELETE"])
    func methods(_ method: String) async throws {
        let page = try await fixture.load(.echo) { request, _ in
            request.httpMethod = method
            request.setValue("yes", forHTTPHeaderField: "X-Mine")
            request.httpBody = method == "DELETE" ? nil : Data("the body".utf8)
        }
        #expect(page.data.text.hasPrefix("\(method) /it HTTP/1.1\r\n"))
        #expect(page.data.text.contains("\r\nX-Mine: yes\r\n"))
        #expect(page.data.text.hasSuffix(method == "DELETE" ? "\r\n\r\n" : "\r\n\r\nthe body"))
    }

    @Test("O4: a control character in the method or in a header is an error, and nothing is sent")
    func controlCharacters() async {
        // Foundation itself drops a header whose value has a line break.
        for (name, value) in [("X\nY", "1"), ("A\tB", "1"), ("X", "a\u{1B}[2J"), ("X", "\u{7F}")] {
            await expectFailure("invalidRequest", "/it: the header \(name.debugDescription) has a control") {
                try await fixture.load(.echo) { request, _ in
                    request.setValue(value, forHTTPHeaderField: name)
                }
            }
        }
        for method in ["GET / HTTP/1.1\r\nX", "P\tT"] {
            await expectFailure("invalidRequest", "the method has a control character") {
                try await fixture.load(.echo) { request, _ in request.httpMethod = method }
            }
        }
        await expectFailure("invalidRequest", "the header \"If-None-Match\" has") {
            try await fixture.load(.echo) { $1.ifNoneMatch = "\"a\u{8}\"" }
        }
        #expect(fixture.server.requests.isEmpty)
        // Nor is what a closure answers.
        let error = await fixture.failure(of: .redirect(to: "/target")) {
            $1.onRedirect = { redirect in
                var next = redirect.next
                next.setValue("a\u{1B}", forHTTPHeaderField: "X")
                return .resolved(.change(next))
            }
        }
        #expect("\(error)".contains("the header \"X\" has") && fixture.server.requests.count == 1, "\(error)")
        let page = try? await fixture.load(.echo) { request, _ in
            request.setValue("a\tä", forHTTPHeaderField: "X")
        }
        #expect(page?.data.text.contains("X: a\tä\r\n") == true)
    }

    @Test("A HEAD has headers and no body, and is not taken for truncated")
    func head() async throws {
        let page = try await fixture.load(.pattern(100_000)) { request, _ in request.httpMethod = "HEAD" }
        #expect(page.data.isEmpty && page.response.value(forHTTPHeaderField: "Content-Length") == "100000")
    }

    @Test("A compressed body is unpacked, and no body at all is one of 0 bytes")
    func framings() async throws {
        let compressed: [UInt8] = [
            31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 203, 200, 4, 0, 172, 42, 147, 216, 2, 0, 0, 0,
        ]
        #expect(try await fixture.load(.gzip(compressed)).data.text == "hi")
        #expect(try await fixture.load(.empty(204)).data.isEmpty)
    }

    @Test("O4: a status that is not accepted is a failure with code, headers and the first bytes of the body")
    func status() async throws {
        let body = String(repeating: "no ", count: 10_000)
        let failure = try await fixture.refusal(of: .text(body, status: 404, headers: [("X-Why", "gone")]))
        #expect(failure.code == 404 && failure[header: "x-why"] == "gone" && failure.url == fixture.url())
        #expect(failure.body.count == 4096 && failure.body.text == body.prefix(4096))
        #expect("\(DataSourceError.status(failure))".hasPrefix("\(fixture.url("/it")): 404 "))
        #expect(
            try await fixture.load(.status(404)) { $1.acceptedStatuses = [404] }.response.statusCode == 404)
    }

    @Test("O4: a redirect whose status is accepted is the answer", arguments: [301, 302, 303, 307, 308])
    func acceptedRedirect(_ status: Int) async throws {
        let page = try await fixture.load(.redirect(to: "/elsewhere", status: status)) {
            $1.acceptedStatuses = [status]
        }
        #expect(page.response.statusCode == status && page.data.text == "moved to /elsewhere\n")
        #expect(page.response.value(forHTTPHeaderField: "Location") == "/elsewhere")
        #expect(fixture.server.requests.count == 1)
    }

    @Test("O6: a conditional request that finds nothing new succeeds without a body")
    func conditional() async throws {
        let resource = Answer.resource(10, etag: "\"a\"", lastModified: "Sat, 01 Jan 2022 00:00:00 GMT")
        let same = try await fixture.load(resource) { $1.ifNoneMatch = "\"a\"" }
        #expect(same.isNotModified && same.data.isEmpty)
        let date = Date(timeIntervalSince1970: 1_640_995_200)
        #expect(try await fixture.load(resource) { $1.ifModifiedSince = date }.isNotModified)
        let other = try await fixture.load(resource) { $1.ifNoneMatch = "\"b\"" }
        #expect(!other.isNotModified && other.data == Data(Pattern.bytes(10)))
        // The request was not conditional.
        #expect(try await fixture.refusal(of: .empty(304)).code == 304)
    }

    @Test("O6: progress on the main actor: the last report of several, and the final figures")
    @MainActor func progressOnMainActor() async throws {
        var seen: [TransferProgress] = []
        var options = TransferOptions.patient
        options.reportProgress(on: MainActor.self) { seen.append($0) }
        let report = try #require(options.onProgress)
        for received in 1...3 { report(TransferProgress(received: Int64(received))) }
        #expect(seen.isEmpty)
        await drainMainActor()
        #expect(seen == [TransferProgress(received: 3)])
        _ = try await fixture.request(.pattern(3_000_000)) { $1 = options }.value
        await drainMainActor()
        #expect(seen.last == TransferProgress(received: 3_000_000, expected: 3_000_000))
    }

    @Test("The times of a transfer come in order")
    func metrics() async throws {
        fixture.server.route("/a", .redirect(to: "/b"))
        fixture.server.route("/b", .text("x"))
        let source = URLDataSource(fixture.url("/a"), options: .patient)
        _ = try await source.request(on: fixture.queue).value
        let metrics = source.metrics
        let times = [metrics.requested, metrics.started, metrics.responded, metrics.firstByte, metrics.ended]
            .compactMap { $0 }
        #expect(times.count == 5 && times == times.sorted())
        #expect(metrics.requestCount == 2 && metrics.received == 1)
    }

    // MARK: JSON

    struct Item: Decodable, Equatable, Sendable {
        let name: String
        let count: Int
    }

    private func loadItems(_ body: String) -> Deferred<[Item]> {
        fixture.server.route("/it", .json(body))
        return JSONDataSource<[Item]>(fixture.url(), options: .patient).request(on: fixture.queue)
    }

    @Test("A JSON document is decoded, and asked for as JSON")
    func decoded() async throws {
        #expect(try await loadItems("[{\"name\": \"a\", \"count\": 3}]").value == [Item(name: "a", count: 3)])
        #expect(fixture.server.requests[0][header: "Accept"] == "application/json")
    }

    @Test(
        "O4: what isn't JSON, or not what is wanted, is named with its place",
        arguments: [
            ("[{\"name\": \"a\", \"count\": \"x\"}]", "[0].count: "),
            ("[{\"name\": \"a\"}]", "there is no \"count\""),
            ("[{\"name\": null, \"count\": 1}]", "[0].name: "), ("{}", "unexpected JSON"),
            ("<html>", "unexpected JSON"),
            ("", "unexpected JSON"), ("[{\"name\": \"a\", \"cou", "unexpected JSON"),
        ])
    func malformedJSON(_ body: String, _ words: String) async {
        await expectFailure("malformedJSON", words) { try await loadItems(body).value }
    }
}
