import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// O15: what the library promises, it promises on any transport, also on one that misbehaves.
@Suite(.watchdog)
struct TransportTests {
    typealias Step = StubTransport.Step

    let queue = OperationQueue()
    static let url = URL(string: "http://example.org/it")!

    private func load(
        _ stub: StubTransport, _ change: (inout TransferOptions) -> Void = { _ in }
    ) -> Deferred<URLDataSource.Response> {
        var options = TransferOptions.patient
        change(&options)
        return URLDataSource(Self.url, options: options, session: TransferSession(transport: stub))
            .request(on: queue)
    }

    /// The outcome in words.
    private func words(_ request: Deferred<URLDataSource.Response>) async -> String {
        switch await request.result {
        case .success(let response): "\(response.response.statusCode) \(response.data.text)"
        case .failure(let error): "\(error)"
        }
    }

    private static func bytes(_ text: String) -> Step { .bytes(Data(text.utf8)) }
    private static func response(_ status: Int, _ headers: [String: String] = [:]) -> HTTPURLResponse {
        HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)!
    }
    private static let lost = URLError(.networkConnectionLost)
    private static let ok = Step.head(200, ["Content-Length": "2"])

    // MARK: Codings

    /// A transport that unpacks.
    private struct Unpacking: Transport {
        let base: StubTransport
        func send(
            _ request: URLRequest, _ body: TransportBody, for exchange: TransportExchange
        ) -> any TransportTask {
            #expect(exchange.wantsBodyAsSent)
            return base.send(request, body, for: exchange)
        }
    }

    @Test(
        "O14: storesAsSent delivers what is sent, whose length counts; a transport that cannot is a failure",
        arguments: ["gzip", "x-gzip", "br, gzip", "identity", "aws-chunked", "utf-8, none", ""])
    func codings(coding: String) async {
        let isCoded = coding.contains("gzip")
        let headers = ["Content-Length": "4", "Content-Encoding": coding]
        let stub = StubTransport(script: [.init([.head(200, headers), Self.bytes("ab"), .end])])
        let asSent = load(stub) { $0.storesAsSent = true }
        #expect(await words(asSent).contains("truncated: 2 of 4 bytes"))
        // Unpacked, the announced length is that of something else.
        let unpacked = await words(load(stub))
        #expect(isCoded ? unpacked == "200 ab" : unpacked.contains("truncated: 2 of 4 bytes"), "\(unpacked)")
        var options = TransferOptions.patient
        options.storesAsSent = true
        let other = URLDataSource(
            Self.url, options: options, session: TransferSession(transport: Unpacking(base: stub)))
        let refused = await words(other.request(on: queue))
        #expect(
            refused.contains(isCoded ? "cannot store it as it was sent" : "truncated: 2 of 4"), "\(refused)")
    }

    // MARK: Order

    /// What is reported, and what comes of it.
    private static var orders: [(steps: [Step], expected: String)] {
        [
            ([ok, bytes("a"), bytes(""), bytes("b"), .end], "200 ab"),
            ([.head(100), .head(103), ok, bytes("ab"), .end], "200 ab"),
            // Out of order.
            ([bytes("ab"), ok, .end], "a body without a head"),
            ([bytes("ab"), .end], "a body without a head"),
            ([.end], "no status"), ([.head(100), .end], "no status"),
            ([.sent(5), ok, .sent(3), bytes("ab"), .sent(-1), .end], "200 ab"),
            // Twice.
            ([ok, .head(500), bytes("ab"), .end], "200 ab"),
            ([ok, .head(100), bytes("ab"), .end], "200 ab"),
            ([ok, bytes("ab"), .end, .end, .fail(lost)], "200 ab"),
            ([.fail(lost), .end, .fail(URLError(.timedOut))], "connection lost"),
            ([.head(404), .end, .fail(lost)], "404"),
            // After the end.
            ([ok, bytes("ab"), .end, bytes("c"), .head(500), .sent(1)], "200 ab"),
            ([.head(404), bytes("no"), .end, .head(200), bytes("ab"), .end], "404"),
            // More, or less, than announced.
            ([ok, bytes("abc"), .end], "a body of more than 2 bytes"),
            ([ok, bytes("a"), .end], "truncated: 1 of 2 bytes"),
            ([ok, bytes("a"), .fail(lost)], "connection lost"),
            // A status that is none.
            ([.head(0), .end], ": 0 "), ([.head(-5), .end], ": -5 "),
            ([.head(101), bytes("x"), .end], "without a head"),
            // What a client has read by itself.
            ([.event(.challenge(response(401)))], "401"),
            ([ok, bytes("ab"), .event(.challenge(response(401)))], "200 ab"),
            ([.event(.redirect(response(302, ["Location": "/next"]))), ok], "redirected more than 0 times"),
            ([.event(.redirect(response(302))), ok], "302"),
            ([.event(.redirect(response(200, ["Content-Length": "0"]))), .end], "200 "),
            (
                [.event(.redirect(response(200, ["Content-Length": "2"]))), bytes("ab")],
                "truncated: 0 of 2 bytes"
            ),
            ([.event(.redirect(response(100)))], "no status"),
        ]
    }

    @Test("O15: events in any order, twice, or after the end, end a transfer once", arguments: orders.indices)
    func order(_ index: Int) async {
        let (steps, expected) = Self.orders[index]
        for validates in [false, true] {
            let words = await words(
                load(StubTransport(script: [.init(steps)])) {
                    $0.maximumRedirectCount = 0
                    if validates { $0.validateResponse = { _ in } }
                })
            #expect(words.contains(expected), "\(words), validating: \(validates)")
        }
    }

    @Test(
        "O15: events that come while the head is being validated are taken after it",
        arguments: [false, true])
    func staged(_ isRefused: Bool) async {
        struct Refused: Error {}
        let (validating, mayReturn) = (Observations<Void>(), DispatchSemaphore(value: 0))
        let exchange = Observations<TransportExchange>()
        let request = load(StubTransport { _ in .init([.call { exchange.note($0) }]) }) {
            $0.validateResponse = { _ in
                validating.note(())
                mayReturn.wait()
                if isRefused { throw Refused() }
            }
        }
        await exchange.wait(for: 1)
        exchange.all[0].receive(.head(Self.response(200, ["Content-Length": "2"])))
        await validating.wait(for: 1)
        for event in [.bytes(Data("ab".utf8)), .end(nil), .bytes(Data("c".utf8)), .end(Self.lost)]
            as [TransportEvent]
        {
            exchange.all[0].receive(event)
        }
        mayReturn.signal()
        let words = await words(request)
        #expect(words == (isRefused ? "Refused()" : "200 ab"))
        #expect(exchange.all[0].isCancelled)
    }

    @Test("O15: what is reported after a cancel is ignored, at whatever stage")
    func afterCancel() async {
        let stages: [[TransportEvent]] = [
            [], [.head(Self.response(200))], [.head(Self.response(200)), .bytes(Data([1]))],
            [.head(Self.response(404))], [.head(Self.response(200)), .bytes(Data([1])), .sent(1)],
        ]
        for stage in stages {
            let exchange = Observations<TransportExchange>()
            let stub = StubTransport { _ in .init([.call { exchange.note($0) }]) }
            let request = load(stub)
            await exchange.wait(for: 1)
            for event in stage { exchange.all[0].receive(event) }
            #expect(!exchange.all[0].isCancelled)
            request.cancel()
            #expect(throws: CancellationError.self) { try request.currentResult?.get() }
            #expect(exchange.all[0].isCancelled)
            for event in [.head(Self.response(200)), .bytes(Data([2])), .end(nil), .end(Self.lost)]
                as [TransportEvent]
            {
                exchange.all[0].receive(event)
            }
            #expect(throws: CancellationError.self) { try request.currentResult?.get() }
        }
    }

    @Test("O15: events from many threads at once end a transfer once, with an error or with all bytes")
    func manyThreads() async {
        for _ in 0..<50 {
            let exchange = Observations<TransportExchange>()
            let request = load(StubTransport { _ in .init([.call { exchange.note($0) }]) })
            await exchange.wait(for: 1)
            await withTaskGroup(of: Void.self) { group in
                for event in [
                    .head(Self.response(200, ["Content-Length": "2"])), .bytes(Data([1])), .bytes(Data([2])),
                    .sent(1),
                    .end(nil), .end(Self.lost),
                ] as [TransportEvent] {
                    group.addTask { exchange.all[0].receive(event) }
                }
            }
            switch await request.result {
            case .success(let response): #expect(Set(response.data) == [1, 2])
            case .failure(let error): #expect(error is DataSourceError)
            }
        }
    }

    @Test("O15: a transport that never answers is ended by the time limits, and by a cancel")
    func never() async {
        for steps in [
            [], [.head(103)], [Self.ok], [Self.ok, Self.bytes("a")], [.head(404), Self.bytes("a")],
        ] as [[Step]] {
            for limit in ["silence", "total", "cancel"] {
                let (clock, sent) = (ManualClock(), Observations<Void>())
                let stub = StubTransport { _ in .init(steps + [.call { _ in sent.note(()) }]) }
                let request = load(stub) {
                    $0.timer = clock
                    $0.silenceTimeout = limit == "silence" ? .seconds(8) : .seconds(3600)
                    $0.totalTimeout = limit == "total" ? .seconds(8) : nil
                }
                await sent.wait(for: 1)
                if limit == "cancel" { request.cancel() }
                for _ in 0..<10 { clock.advance(by: .seconds(1)) }
                let words = await words(request)
                let expected = ["silence": "nothing heard for 8 s", "total": "not done after 8 s"]
                #expect(words.contains(expected[limit] ?? "CancellationError"), "\(words)")
                await wait { stub.inProgressCount == 0 }
            }
        }
    }

    /// Its `send` returns when it may.
    private struct Blocking: Transport {
        let base = StubTransport(script: [.answer(text: "first"), .answer(text: "second")])
        let entered = Observations<Void>()
        let mayReturn = DispatchSemaphore(value: 0)

        func send(_ request: URLRequest, _ body: TransportBody, for exchange: TransportExchange)
            -> any TransportTask
        {
            entered.note(())
            _ = Watchdog.waits(for: mayReturn)
            return base.send(request, body, for: exchange)
        }
    }

    @Test(
        "O15: where `send` does not return, a time limit or a cancel ends the transfer, and others of its session wait",
        arguments: ["silence", "total", "cancel"])
    func blocked(_ limit: String) async {
        let (clock, transport) = (ManualClock(), Blocking())
        let session = TransferSession(transport: transport)
        func load(_ options: TransferOptions) -> Deferred<URLDataSource.Response> {
            URLDataSource(Self.url, options: options, session: session).request(on: queue)
        }
        let first = load(
            TransferOptions(
                silenceTimeout: limit == "silence" ? .seconds(8) : nil,
                totalTimeout: limit == "total" ? .seconds(8) : nil, timer: clock))
        await transport.entered.wait(for: 1)
        if limit == "cancel" { first.cancel() }
        while first.currentResult == nil, !Task.isCancelled {
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
        let expected = ["silence": "nothing heard for 8 s", "total": "not done after 8 s"]
        let words = await words(first)
        #expect(words.contains(expected[limit] ?? "CancellationError"), "\(words)")
        let second = load(.patient)
        transport.mayReturn.signal()
        await transport.entered.wait(for: 2)
        #expect(second.currentResult == nil)
        transport.mayReturn.signal()
        #expect(await self.words(second).hasPrefix("200 "))
    }

    @Test("O16: a transfer that waits has nothing to do but to notice its time limits", arguments: [0, 1, 2])
    func waiting(_ limits: Int) async {
        let (clock, sent) = (ManualClock(), Observations<Void>())
        var request = URLRequest(url: Self.url)
        request.timeoutInterval = .infinity
        let options = TransferOptions(
            silenceTimeout: limits > 0 ? .seconds(80) : nil, totalTimeout: limits > 1 ? .seconds(100) : nil,
            timer: clock)
        let stub = StubTransport { _ in .init([Self.ok, .call { _ in sent.note(()) }]) }
        let transfer = URLDataSource(request, options: options, session: TransferSession(transport: stub))
            .request(on: queue)
        await sent.wait(for: 1)
        for _ in 0..<7 {
            #expect(clock.scheduled.count == limits)
            clock.advance(by: .seconds(10))
        }
        transfer.cancel()
        #expect(clock.scheduled.isEmpty)
    }

    /// Releases the exchange at once.
    private struct Forgetful: Transport {
        struct NoTask: TransportTask { func cancel() {} }
        func send(_ request: URLRequest, _ body: TransportBody, for exchange: TransportExchange)
            -> any TransportTask
        {
            NoTask()
        }
    }

    @Test("O15: a transport that releases an exchange before its end ends the transfer")
    func forgotten() async {
        let session = TransferSession(transport: Forgetful())
        await expectFailure("connectionLost", "released the request before its end") {
            try await URLDataSource(Self.url, options: .patient, session: session).request(on: queue).value
        }
    }

    // MARK: What the library decides

    @Test("O15: redirects and challenges are the library's, also those whose body is not delivered")
    func decisions() async {
        let stub = StubTransport(script: [
            .redirect(to: "/a"), .init([.event(.redirect(Self.response(307, ["Location": "/b"])))]),
            .init([.event(.challenge(Self.response(401)))]), .answer(401), .answer(text: "in"),
        ])
        let words = await words(
            load(stub) {
                $0.onChallenge = { challenge in
                    .resolved(challenge.answered(authorization: "try \(challenge.attempt)"))
                }
            })
        #expect(words == "200 in")
        let asked = stub.requests.map { "\($0.urlRequest.url!.path) \($0[header: "authorization"] ?? "-")" }
        #expect(asked == ["/it -", "/a -", "/b -", "/b try 1", "/b try 2"])
    }

    @Test("O9, O15: an address is shown without its password, whatever URL the transport reports")
    func passwords() async throws {
        let secret = URL(string: "http://me:secret@example.org/it")!
        let other = URL(string: "http://me:secret@elsewhere.example/")!
        for reported in [secret, other] {
            let head = HTTPURLResponse(url: reported, statusCode: 200, httpVersion: nil, headerFields: nil)!
            let session = TransferSession(
                transport: StubTransport(script: [.init([.event(.head(head)), .end])]))
            let page = try await URLDataSource(secret, options: .patient, session: session).request(on: queue)
                .value
            #expect(page.response.url == Self.url)
        }
    }

    @Test(
        "O11, O15: a transport receives the body apart from the request, with its length, and no header that frames it"
    )
    func bodies() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("body-\(UUID())")
        try Data("from a file".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let rows: [(String, Int64?, (inout URLRequest, inout TransferOptions) -> Void)] = [
            ("in memory", 9, { request, _ in request.httpBody = Data("in memory".utf8) }),
            ("from a file", 11, { $1.uploadFile = file }),
            ("stream", nil, { $1.makeBodyStream = { InputStream(data: Data("stream".utf8)) } }),
            ("", 0, { _, _ in }),
            (
                "stream", 6,
                { request, options in
                    options.makeBodyStream = { InputStream(data: Data("stream".utf8)) }
                    request.setValue("6", forHTTPHeaderField: "Content-Length")
                }
            ),
        ]
        for (text, byteCount, change) in rows {
            let stub = StubTransport(script: [.answer()])
            var (request, options) = (URLRequest(url: Self.url), TransferOptions.patient)
            request.httpMethod = "PUT"
            change(&request, &options)
            _ = try await URLDataSource(request, options: options, session: TransferSession(transport: stub))
                .request(on: queue).value
            let sent = try #require(stub.requests.first)
            #expect(sent.body.text == text && sent.announcedByteCount == byteCount)
            #expect(sent.urlRequest.httpBody == nil && sent.urlRequest.httpBodyStream == nil)
            #expect(sent[header: "Content-Length"] == nil && sent[header: "Transfer-Encoding"] == nil)
        }
    }

    @Test("What a transport knows of the connection is in the metrics; a redirect's is replaced")
    func metrics() async throws {
        let (first, second) = (ContinuousClock.now, ContinuousClock.now + .seconds(1))
        let metrics = [first, second].map { Step.event(.metrics(.init(connected: $0, protocolName: "h2"))) }
        let stub = StubTransport(script: [
            .init([metrics[0], .head(302, ["Location": "/b"]), .end]),
            .init([metrics[1], Self.ok, Self.bytes("ab"), .end]),
        ])
        let source = URLDataSource(Self.url, options: .patient, session: TransferSession(transport: stub))
        _ = try await source.request(on: queue).value
        #expect(source.metrics.connected == second && source.metrics.protocolName == "h2")
        #expect(source.metrics.isConnectionReused == nil && source.metrics.requestCount == 2)
    }

    // MARK: Pauses

    @Test("A stream whose reader is slow pauses its request, and continues it, where the transport can pause")
    func pauses() async throws {
        let pieces = (0..<100).map { Data([UInt8($0)]) }
        let steps = [.head(200, ["Content-Length": "100"])] + pieces.map { Step.bytes($0) } + [.end]
        let stub = StubTransport(script: [.init(steps)])
        let source = StreamDataSource(
            Self.url, bufferByteCount: 1, pauseByteCount: 1, options: .patient,
            session: TransferSession(transport: stub))
        let request = source.request(on: queue)
        _ = try await source.head.value
        var received = Data()
        for try await piece in source.body { received += piece }
        #expect(received == Data((0..<100).map { UInt8($0) }))
        #expect(try await request.value.byteCount == 100 && stub.requests.count == 1)
    }

    @Test("Where the transport cannot pause, the rest is requested after the pause")
    func requestsRest() async throws {
        let whole = Data((0..<100).map { UInt8($0) })
        let tag = ["ETag": "\"a\"", "Accept-Ranges": "bytes"]
        let stub = StubTransport(canPause: false) { request in
            guard let range = request[header: "Range"], let first = Int(range.dropFirst(6).dropLast()) else {
                return .answer(headers: tag, body: whole, pieces: 100)
            }
            let headers = tag.merging(["Content-Range": "bytes \(first)-99/100"]) { $1 }
            return .answer(206, headers: headers, body: whole[first...], pieces: 100)
        }
        let source = StreamDataSource(
            Self.url, bufferByteCount: 1, pauseByteCount: 1, options: .patient,
            session: TransferSession(transport: stub))
        let request = source.request(on: queue)
        await wait { stub.inProgressCount == 0 && !stub.requests.isEmpty }
        var received = Data()
        for try await piece in source.body { received += piece }
        _ = try await request.value
        #expect(received == whole && stub.requests.count > 1)
    }
}
