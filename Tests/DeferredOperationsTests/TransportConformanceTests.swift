import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import Testing

#if canImport(LoopbackServer)
import LoopbackServer
#else
import FileServing
#endif

/// O15: each rule of a transfer, on each transport.
@Suite(.timeLimit(.minutes(5)))
struct TransportConformanceTests {
    private static let body = Data(Pattern.bytes(100_000))

    private func load(
        _ place: Place, _ change: (inout URLRequest, inout TransferOptions) -> Void = { _, _ in }
    ) -> Deferred<URLDataSource.Response> {
        var (request, options) = (URLRequest(url: place.url), TransferOptions.patient)
        change(&request, &options)
        return URLDataSource(request, options: options, session: place.session).request(on: place.queue)
    }

    @Test("O15, O4: statuses, lengths and limits", arguments: TransportKind.allCases)
    func answers(_ kind: TransportKind) async throws {
        let place = kind.place()
        place.serve { _ in .init(headers: ["X-Mine": "yes"], body: Self.body) }
        let page = try await load(place).value
        #expect(page.data == Self.body && page.response.value(forHTTPHeaderField: "x-mine") == "yes")
        #expect(page.response.url == place.url)
        await expectFailure("tooLarge") { try await load(place) { $1.maximumByteCount = 99_999 }.value }
        place.serve { _ in .init(status: 404, body: Self.body) }
        await expectFailure("status", "404") { try await load(place).value }
        place.serve { _ in .init(body: Self.body, sent: 7, end: .lost) }
        await #expect(throws: DataSourceError.self) { try await load(place).value }
        place.serve { _ in .init(status: 206, headers: ["Content-Range": "bytes 0-0/100"], body: Data([1])) }
        await expectFailure("malformedResponse", "not asked for") { try await load(place).value }
        place.serve { _ in .init(status: 204) }
        #expect(try await load(place).value.response.statusCode == 204)
        place.serve { _ in .init(status: 304) }
        #expect(try await load(place) { $1.ifNoneMatch = "\"a\"" }.value.isNotModified)
    }

    @Test(
        "O15, O7: redirects, with the headers and the body that they leave", arguments: TransportKind.allCases
    )
    func redirects(_ kind: TransportKind) async throws {
        for (status, expected) in [(301, "GET /next "), (303, "GET /next "), (307, "POST /next body")] {
            for isDecided in [false, true] {
                let place = kind.place()
                place.serve { asked in
                    asked.line.hasSuffix("/it")
                        ? .init(status: status, headers: ["Location": "/next"], body: Data("moved".utf8))
                        : .init(body: Data("in".utf8))
                }
                let page = try await load(place) { request, options in
                    request.httpMethod = "POST"
                    request.httpBody = Data("body".utf8)
                    if isDecided { options.onRedirect = { _ in .resolved(.follow) } }
                }.value
                #expect(page.data.text == "in" && page.response.url?.path == "/next")
                let last = try #require(place.asked().last)
                #expect("\(last.line) \(last.body.text)" == expected)
            }
        }
        let place = kind.place()
        place.serve { _ in .init(status: 302, headers: ["Location": "/it"], body: Data("moved".utf8)) }
        await expectFailure("tooManyRedirects") { try await load(place).value }
        #expect(place.asked().count == 21)
        let stopped = await load(place) { $1.onRedirect = { _ in .resolved(.stop) } }.result
        guard case .failure(DataSourceError.status(let failure)) = stopped else {
            return _ = Issue.record("\(stopped)")
        }
        #expect(failure.body.text == "moved")
    }

    @Test(
        "O15: a Cookie header of the caller's is sent as it is, whatever was set before",
        arguments: TransportKind.allCases)
    func cookies(_ kind: TransportKind) async throws {
        let place = kind.place()
        place.serve { asked in
            asked.line.hasSuffix("/it")
                ? .init(status: 302, headers: ["Location": "/next", "Set-Cookie": "lb=7; Path=/"]) : .init()
        }
        for _ in 0..<2 {
            _ = try await load(place) { request, _ in
                request.setValue("session=1", forHTTPHeaderField: "Cookie")
            }.value
        }
        #expect(place.asked().map { $0.header("Cookie") } == Array(repeating: "session=1", count: 4))
    }

    @Test("O15: challenges", arguments: TransportKind.allCases)
    func challenges(_ kind: TransportKind) async throws {
        let place = kind.place()
        place.serve { asked in
            asked.header("Authorization") == "try 2"
                ? .init(body: Data("in".utf8))
                : .init(status: 401, headers: ["WWW-Authenticate": "Bearer"], body: Data("out".utf8))
        }
        let page = try await load(place) {
            $1.onChallenge = { .resolved($0.answered(authorization: "try \($0.attempt)")) }
        }.value
        #expect(page.data.text == "in" && place.asked().count == 3)
        await expectFailure("status", "401") { try await load(place).value }
    }

    @Test("O15, O5: a download that breaks is resumed", arguments: TransportKind.allCases)
    func resumes(_ kind: TransportKind) async throws {
        let place = kind.place()
        place.serve { asked in
            var headers = ["ETag": "\"a\"", "Accept-Ranges": "bytes"]
            guard let first = asked.first else {
                return .init(headers: headers, body: Self.body, sent: 40_000, end: .lost)
            }
            headers["Content-Range"] = "bytes \(first)-99999/100000"
            return .init(status: 206, headers: headers, body: Self.body[first...])
        }
        func download() -> Deferred<DownloadDataSource.File> {
            DownloadDataSource(
                place.url, to: place.file, options: .patient, download: .init(resumes: true),
                session: place.session
            )
            .request(on: place.queue)
        }
        await #expect(throws: DataSourceError.self) { try await download().value }
        let file = try await download().value
        #expect(file.resumedAt == 40_000 && file.byteCount == 100_000)
        #expect(try Data(contentsOf: file.url) == Self.body)
    }

    @Test(
        "O15: a stream whose reader is slow arrives whole, however the transport pauses",
        arguments: TransportKind.allCases)
    func streams(_ kind: TransportKind) async throws {
        let place = kind.place()
        place.serve { asked in
            var headers = ["ETag": "\"a\"", "Accept-Ranges": "bytes"]
            guard let first = asked.first else { return .init(headers: headers, body: Self.body) }
            headers["Content-Range"] = "bytes \(first)-99999/100000"
            return .init(status: 206, headers: headers, body: Self.body[first...])
        }
        let source = StreamDataSource(
            place.url, bufferByteCount: 1, pauseByteCount: 1, options: .patient, session: place.session)
        let body = source.body
        let request = source.request(on: place.queue)
        _ = try await source.head.value
        var data = Data()
        for try await piece in body { data += piece }
        #expect(data == Self.body)
        #expect(try await request.value.byteCount == 100_000)
    }

    @Test(
        "O15, O2: silence and a cancel end what waits for a head, or for the rest of a body",
        arguments: TransportKind.allCases)
    func ends(_ kind: TransportKind) async throws {
        for sent in [0, 10] {
            let (place, clock) = (kind.place(), ManualClock())
            place.serve { _ in .init(body: Self.body, sent: sent, end: .silent) }
            let silent = load(place) { ($1.silenceTimeout, $1.timer) = (.seconds(8), clock) }
            await wait { !place.asked().isEmpty }
            while silent.currentResult == nil, !Task.isCancelled {
                clock.advance(by: .seconds(1))
                await Task.yield()
            }
            await expectFailure("timedOut") { try await silent.value }
            let cancelled = load(place)
            await wait { place.asked().count >= 2 }
            cancelled.cancel()
            #expect(throws: CancellationError.self) { try cancelled.currentResult?.get() }
        }
    }

    @Test("O15, O11: bodies arrive with their length", arguments: TransportKind.allCases)
    func bodies(_ kind: TransportKind) async throws {
        let place = kind.place()
        place.serve { _ in .init() }
        try Self.body.write(to: place.file)
        var form = MultipartForm()
        form.add("file", file: place.file)
        let changes: [(inout URLRequest, inout TransferOptions) -> Void] = [
            { request, _ in request.httpBody = Self.body }, { $1.uploadFile = place.file },
            { ($1.makeBodyStream, $1.bodyByteCount) = ({ InputStream(data: Self.body) }, 100_000) },
            { $1.makeBodyStream = { InputStream(data: Self.body) } }, { $1.uploadForm = form },
        ]
        for (index, change) in changes.enumerated() {
            _ = try await load(place) { request, options in
                request.httpMethod = "PUT"
                change(&request, &options)
            }.value
            let asked = try #require(place.asked().last)
            #expect(index == 4 ? asked.body.count > 100_000 : asked.body == Self.body)
        }
        await expectFailure("invalidRequest", "it has more than 5 bytes") {
            try await load(place) { request, options in
                request.httpMethod = "PUT"
                (options.makeBodyStream, options.bodyByteCount) = ({ InputStream(data: Self.body) }, 5)
            }.value
        }
    }
}
