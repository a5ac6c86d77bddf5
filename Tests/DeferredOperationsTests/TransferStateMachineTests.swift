import Deferred
import Foundation
import Testing

@testable import DeferredOperations

/// The state machine of a transfer, driven by events alone.
struct TransferStateMachineTests {
    typealias Event = TransferEvent

    static let address = "http://example.org/it"
    var request: URLRequest { URLRequest(url: URL(string: Self.address)!) }

    func head(_ status: Int = 200, _ headers: [String: String] = [:]) -> Event {
        .head(.of(Self.address, status, headers))
    }

    func bytes(_ text: String) -> Event { .bytes(Data(text.utf8)) }

    func words(_ simulation: inout Simulation) -> String {
        switch simulation.conclude() {
        case .success(let response): "\(response.statusCode)"
        case .failure(let error): "\(error)"
        case nil: "none"
        }
    }

    // MARK: Lengths

    /// What is requested, the head and the length of what comes, and the end of what comes of it, in words.
    private static let bodies: [(range: String?, headers: [String: String], sent: Int, expected: String)] =
        [
            (nil, ["Content-Length": "5"], 5, "200"), (nil, ["Content-Length": "5, 5"], 5, "200"),
            (nil, ["Content-Length": "5,5"], 5, "200"), (nil, ["Content-Length": ""], 5, "200"),
            (nil, ["Transfer-Encoding": "gzip, chunked"], 5, "a Transfer-Encoding of gzip, chunked"),
            (nil, ["Content-Length": "5"], 6, "a body of more than 5 bytes"),
            (nil, ["Content-Length": "5"], 4, "truncated: 4 of 5 bytes"),
            ("bytes=100-299", ["Content-Range": "bytes 100-299/1000"], 200, "206"),
            ("bytes=900-5000", ["Content-Range": "bytes 900-999/1000"], 100, "206"),
            ("bytes=-100", ["Content-Range": "bytes 900-999/1000"], 100, "206"),
            ("bytes=0-1,5-6", ["Content-Type": "multipart/byteranges; boundary=x"], 7, "206"),
            ("bytes=100-299", ["Content-Range": "bytes 100-299/1000"], 50, "50 of 200 bytes"),
            ("bytes=100-299", ["Content-Range": "bytes 100-199/1000"], 100, "100 of 200 bytes"),
            ("bytes=100-", ["Content-Range": "bytes 100-199/1000"], 100, "100 of 900 bytes"),
            ("bytes=100-199", ["Content-Range": "bytes 0-99/1000"], 100, "a part that was not asked for"),
            ("bytes=500-", [:], 500, "a part (206) without Content-Range"),
        ]
        + ["1e3", "-1", "0x5", "5, 6", ",", "18446744073709551616", "five", " 5 5"].map {
            (nil, ["Content-Length": $0], 5, "a Content-Length of \($0)")
        }
        + ["bytes 500-400/1000", "bytes 500-1000/1000", "items 500-999/1000"].map {
            ("bytes=500-", ["Content-Range": $0], 500, "\"\($0)\"")
        }

    @Test("O4, O5: a body or part is what was announced, and requested, or an error that passes nothing on")
    func lengths() {
        for row in Self.bodies {
            var request = request
            request.setValue(row.range, forHTTPHeaderField: "Range")
            let memory = MemorySink(request)
            let stream = StreamSink(StreamBuffer(limit: 1000, pauseByteCount: 1), for: request) { _ in }
            for sink in [memory, stream] as [any TransferSink] {
                var simulation = Simulation.started(request, into: sink)
                simulation.handle(head(row.range == nil ? 200 : 206, row.headers))
                if simulation.phase == .receiving { simulation.handle(.bytes(Data(count: row.sent))) }
                if simulation.phase == .receiving { simulation.handle(.completed(nil)) }
                let words = words(&simulation)
                #expect(words.hasSuffix(row.expected), "\(row): \(words)")
                #expect(memory.data.count == (words.count == 3 ? row.sent : 0), "\(row)")
            }
        }
    }

    @Test("O4: no answer, and a socket that cannot be made, known by libcurl's text alone, are errors")
    func noAnswer() {
        let text = "Failed to connect to example.org port 80 after 0 ms: Couldn't connect to server"
        let noSocket = URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: text])
        for (error, expected) in [(nil, "no status"), (noSocket, "cannot connect: \(text)")] {
            var simulation = Simulation.started(request, into: MemorySink(request))
            simulation.handle(.completed(error))
            #expect(words(&simulation).hasSuffix(expected))
        }
    }

    @Test(
        "Limits: what an earlier attempt has left counts, and what a mirror sends after a failure counts alone"
    )
    func limits() {
        let rest = ScriptedSink(request, before: 8)
        var options = TransferOptions(maximumByteCount: 10)
        var simulation = Simulation.started(request, options, into: rest)
        simulation.handle(head(), .bytes(Data(count: 3)))
        #expect(words(&simulation).hasSuffix("larger than the limit of 10 bytes"))

        options.validateResponse = { _ in }
        simulation = Simulation.started(request, options, into: ScriptedSink(request, mirrors: [request]))
        for end in [URLError(.networkConnectionLost), nil] {
            simulation.handle(head(), .bytes(Data(count: 9)), .returned(.success(nil)))
            simulation.flush(2)
            simulation.handle(.completed(end))
        }
        #expect(words(&simulation) == "200")
    }

    // MARK: O7

    /// Answers a request with so many redirects to another path.
    private func redirect(_ simulation: inout Simulation, _ count: Int) {
        for number in 0..<count { simulation.handle(head(302, ["Location": "/\(number)"]), .completed(nil)) }
    }

    @Test("O7: redirects are counted anew for the rest after a pause, however many pauses there are")
    func redirectsAfterPauses() {
        let sink = ScriptedSink(request, isEndless: true)
        sink.isFull = true
        var simulation = Simulation.started(request, into: sink)
        for _ in 0..<10 {
            redirect(&simulation, 19)
            simulation.handle(head(), bytes("a"))
            #expect(simulation.phase == .paused)
            simulation.handle(.room)
            #expect(simulation.phase == .requesting)
        }
        redirect(&simulation, 20)
        #expect(simulation.phase == .requesting)
        redirect(&simulation, 1)
        #expect(words(&simulation).contains("redirected more than 20 times"))
    }

    @Test("O7: challenges are counted anew for the rest of a 206, and for a mirror")
    func challenges() {
        let options = TransferOptions(onChallenge: { .resolved($0.request) })
        let sink = ScriptedSink(request, isEndless: true, mirrors: [request, request])
        var simulation = Simulation.started(request, options, into: sink)
        func refuse(_ times: Int) {
            for _ in 0..<times {
                simulation.handle(head(401), .completed(nil))
                if simulation.phase == .asking { simulation.handle(.returned(.success(request))) }
            }
        }
        for _ in 0..<5 {
            refuse(3)
            simulation.handle(head(), .completed(nil))
            #expect(simulation.phase == .requesting)
        }
        // At the fourth, the next mirror is asked.
        for (refusals, mirrorsLeft) in [(4, 1), (4, 0), (3, 0)] {
            refuse(refusals)
            #expect(simulation.phase == .requesting && sink.mirrors.count == mirrorsLeft)
        }
        refuse(1)
        #expect(words(&simulation).contains("401"))
    }

    @Test("A redirect keeps a HEAD and what follows the #, and nothing of a body or another host")
    func redirected() throws {
        var first = URLRequest(url: URL(string: "http://example.org/a/it?q#part")!)
        let fields = ["Authorization", "Content-Type", "Cookie", "Proxy-Authorization", "X-Mine"]
        for name in fields { first.setValue("x", forHTTPHeaderField: name) }
        let credentials = ["Authorization", "Cookie", "Proxy-Authorization"]
        let rows: [(method: String, status: Int, location: String, next: String, dropped: [String])] = [
            ("POST", 301, "/b", "GET http://example.org/b#part", ["Content-Type"]),
            ("POST", 302, "/b", "GET http://example.org/b#part", ["Content-Type"]),
            ("POST", 303, "/b", "GET http://example.org/b#part", ["Content-Type"]),
            ("POST", 307, "/b", "POST http://example.org/b#part", []),
            ("PUT", 308, "/b", "PUT http://example.org/b#part", []),
            ("HEAD", 303, "/b#c", "HEAD http://example.org/b#c", []),
            ("GET", 302, "next", "GET http://example.org/a/next#part", []),
            ("GET", 302, "../next?x=1", "GET http://example.org/next?x=1#part", []),
            ("GET", 302, "?r", "GET http://example.org/a/it?r#part", []),
            ("GET", 302, "http://example.org:81/", "GET http://example.org:81/#part", credentials),
            ("GET", 302, "http://other.example/", "GET http://other.example/#part", credentials),
            ("GET", 301, "https://example.org/", "GET https://example.org/#part", credentials),
        ]
        for row in rows {
            first.httpMethod = row.method
            var simulation = Simulation.started(first, into: ScriptedSink(first))
            simulation.handle(head(row.status, ["Location": row.location]), .completed(nil))
            let next = try #require(simulation.sent.last)
            #expect("\(next.httpMethod!) \(next.url!)" == row.next)
            #expect(fields.filter { next.value(forHTTPHeaderField: $0) == nil } == row.dropped)
        }
    }

    @Test(
        "A redirect that is changed, or a challenge that is answered, with what is not http is an error",
        arguments: [("ftp://x", "ftp is neither http nor https"), ("http:///y", "the URL has no host")])
    func invalidAnswers(_ address: String, _ reason: String) {
        let next = URLRequest(url: URL(string: address)!)
        var options = TransferOptions(onChallenge: { _ in .resolved(nil) })
        options.onRedirect = { _ in .resolved(.stop) }
        for (status, words) in [
            (302, "redirected to \(address), which is not http"), (401, "\(address): \(reason)"),
        ] {
            var simulation = Simulation.started(request, options, into: MemorySink(request))
            simulation.handle(
                head(status, ["Location": "/target"]), .completed(nil), .returned(.success(next)))
            #expect(self.words(&simulation).hasSuffix(words), "\(words)")
            #expect(simulation.sent.count == 1)
        }
    }

    // MARK: Streams

    /// Streams until the buffer is full.
    private func paused(_ headers: [String: String]) -> Simulation {
        let sink = StreamSink(StreamBuffer(limit: 1, pauseByteCount: 1), for: request) { _ in }
        var simulation = Simulation.started(request, into: sink)
        let all = ["ETag": "\"a\"", "Accept-Ranges": "bytes", "Content-Length": "10"].merging(headers) { $1 }
        simulation.handle(head(200, all), .bytes(Data(count: 4)), .bytes(Data(count: 4)))
        return simulation
    }

    @Test(
        "O5: a date in the second of the answer identifies no bytes, as the file may change once more in it")
    func dateOfTheSecond() {
        let date = "Sat, 01 Jan 2022 00:00:00 GMT"
        for (answered, isStrong) in [
            (nil, true), (date, false), ("Sat, 01 Jan 2022 00:00:01 GMT", true),
            ("Fri, 31 Dec 2021 23:00:00 GMT", false),
        ] {
            var headers = ["Last-Modified": date]
            headers["Date"] = answered
            let validator = ResumeRecord.validator(of: .of("http://x", 200, headers))
            #expect(validator == (isStrong ? date : nil), "\(answered ?? "none")")
        }
    }

    @Test(
        "Streams: a rest of another length than announced is an error, as is one of another resource, or without a tag"
    )
    func otherRest() {
        for (range, tag) in [
            ("bytes 8-9/11", "\"a\""), ("bytes 7-9/10", "\"a\""), ("bytes 8-9/10", "\"b\""),
            ("bytes 8-9/10", nil),
        ] {
            var simulation = paused([:])
            #expect(simulation.phase == .paused)
            simulation.handle(.room)
            #expect(simulation.sent.last?.value(forHTTPHeaderField: "Range") == "bytes=8-")
            let headers = ["Content-Range": range].merging(tag.map { ["ETag": $0] } ?? [:]) { $1 }
            simulation.handle(head(206, headers))
            #expect(words(&simulation).contains("not proper HTTP"), "\(range) \(tag ?? "none")")
        }
    }

    @Test("Streams: a body that is compressed, or of a server without ranges or validator, does not pause")
    func notContinued() {
        for headers in [["Content-Encoding": "gzip"], ["Accept-Ranges": "none"], ["ETag": "W/\"a\""]] {
            #expect(paused(headers).phase == .receiving, "\(headers)")
        }
    }

    @Test("Pauses: where a task can be suspended it is, and no rest is requested")
    func suspending() {
        let sink = ScriptedSink(request)
        var simulation = Simulation.started(request, into: sink, canPause: true)
        simulation.handle(head(200, ["Content-Length": "3"]))
        sink.isFull = true
        simulation.handle(bytes("a"), bytes("b"))
        #expect(simulation.phase == .paused)
        simulation.tick(20)
        sink.isFull = false
        simulation.handle(.room, bytes("c"), .completed(nil))
        #expect(words(&simulation) == "200" && sink.data.text == "abc" && simulation.sent.count == 1)
        #expect(simulation.actions.filter { ["suspend", "resume"].contains($0) } == ["suspend", "resume"])
    }

    // MARK: Validation

    private let validating = TransferOptions(validateResponse: { _ in })

    @Test(
        "O5, O6: before an answer is accepted a sink receives nothing, then all, in order, and it is reported"
    )
    func staging() {
        let sink = MemorySink(request)
        var simulation = Simulation.started(request, validating, into: sink)
        simulation.handle(head(200, ["Content-Length": "6"]), bytes("ab"))
        #expect(sink.data.isEmpty && !simulation.actions.contains("accept"))
        simulation.handle(.returned(.success(nil)))
        #expect(simulation.phase == .flushing && sink.data.isEmpty)
        #expect(simulation.actions.suffix(2) == ["report", "flush"])
        simulation.handle(bytes("cd"))
        simulation.flush(3)
        // Also if nothing follows.
        #expect(simulation.phase == .receiving && simulation.machine.progress.received == 4)
        #expect(simulation.actions.suffix(2) == ["report", "accept"])
        simulation.handle(bytes("ef"), .completed(nil))
        #expect(words(&simulation) == "200" && sink.data.text == "abcdef")
        #expect(simulation.actions.filter { $0 == "accept" }.count == 1)
    }

    @Test("O5: what a mirror sends is validated, and the rest after a pause is not, and is no head again")
    func validatedRest() {
        var rest = request
        rest.setValue("bytes=1-", forHTTPHeaderField: "Range")
        let part = head(206, ["Content-Range": "bytes 1-2/3"])
        let sink = ScriptedSink(rest, isEndless: true, mirrors: [rest])
        var simulation = Simulation.started(rest, validating, into: sink)
        for end in [URLError(.networkConnectionLost), nil] {
            simulation.handle(part)
            #expect(simulation.phase == .staging)
            simulation.handle(.returned(.success(nil)))
            simulation.flush()
            sink.isFull = end == nil
            if let end { simulation.handle(.completed(end)) }
        }
        for _ in 0..<3 {
            simulation.handle(bytes("a"), .room, part)
            #expect(simulation.phase == .receiving)
        }
        #expect(simulation.actions.filter { $0 == "accept" }.count == 2)
    }

    // MARK: Silence

    @Test("Silence: eight ticks without a sign of life end the transfer; any sign begins anew")
    func silence() {
        let options = TransferOptions(silenceTimeout: .seconds(8))
        var simulation = Simulation(request, options, into: MemorySink(request))
        simulation.tick(20)  // No request has been sent.
        simulation.handle(.returned(.success(nil)))
        simulation.tick(7)
        for sign in [.sent(10), head(103), head(), bytes("a"), .tick(isHeldUp: true)] {
            simulation.handle(sign)
            simulation.tick(7)
        }
        #expect(simulation.phase == .receiving)
        let round = simulation.machine.round
        simulation.tick(1)
        #expect(simulation.phase == .ending)
        simulation.handle(bytes("b"), .completed(URLError(.networkConnectionLost)), of: round)
        #expect(words(&simulation).hasSuffix("timed out: nothing heard for 8 s"))
    }

    @Test("Silence: without a limit of the options, the request's own timeout is the limit")
    func requestTimeout() {
        var request = request
        for (interval, limit) in [(0.5, Duration.milliseconds(500)), (0, .seconds(60)), (.infinity, nil)] {
            request.timeoutInterval = interval
            #expect(Simulation(request, into: MemorySink(request)).machine.silence.limit == limit)
        }
    }

    @Test("Silence: does not count while the whole is verified")
    func verifying() {
        let sink = ScriptedSink(request)
        sink.verifies = true
        var simulation = Simulation.started(request, into: sink)
        simulation.handle(head(), .completed(nil))
        simulation.tick(20)
        simulation.handle(.returned(.success(nil)))
        #expect(words(&simulation) == "200")
    }

    @Test("Silence: of one server uses up one mirror, also if the connection breaks at the same moment")
    func silentMirror() {
        let options = TransferOptions(silenceTimeout: .seconds(8))
        let mirrors = ["http://b.example", "http://c.example"].map { URLRequest(url: URL(string: $0)!) }
        var simulation = Simulation.started(request, options, into: ScriptedSink(request, mirrors: mirrors))
        let round = simulation.machine.round
        simulation.tick(8)
        simulation.handle(.completed(URLError(.networkConnectionLost)), of: round)
        // The next one has the whole time.
        for host in ["b.example", "c.example"] {
            simulation.tick(7)
            #expect(simulation.phase == .requesting && simulation.machine.request.url?.host == host)
            simulation.tick(1)
        }
        #expect(simulation.phase == .ending)
    }

    @Test("O9: no error names the password of an address")
    func passwords() {
        let address = "http://me:secret@example.org/it"
        let request = URLRequest(url: URL(string: address)!)
        for (status, headers) in [
            (404, ["Location": "http://me:secret@example.org/"]),
            (302, ["Location": "ftp://me:secret@other/x"]), (302, ["Location": "HTTP:me:secret@other"]),
            (302, ["Location": "ftp:me:secret@other"]), (302, ["Location": "http:///me:secret@other/"]),
            (302, ["Location": "http://me:secret/x@other/"]), (302, ["Location": "/it"]), (200, [:]),
            (302, ["Location": "/x, http://me:secret@other/"]),
            (302, ["Location": "/x, http:me:secret@other/"]),
        ] {
            var simulation = Simulation.started(
                request, TransferOptions(maximumRedirectCount: 0), into: MemorySink(request))
            simulation.handle(.head(.of(address, status, headers)), .completed(nil))
            let text = String(reflecting: simulation.conclude())
            #expect(text != "nil" && !text.contains("secret"), "\(text)")
        }
    }

    @Test("O9: nor does one that a user makes, a redirect or a challenge, however it is shown")
    func passwordsOfUsers() {
        let url = URL(string: "http://me:secret@example.org/it")!
        let request = URLRequest(url: url)
        let response = HTTPURLResponse.of("\(url)", 302, ["Location": "\(url)"])
        let shown: [any CustomStringConvertible] = [
            DataSourceError.checksumMismatch(url, expected: "a", actual: "b"),
            DataSourceError.destinationExists(url),
            DataSourceError.cannotConnect(url, reason: "no '\(url)'"),
            DataSourceError.StatusFailure(response, url: url),
            DataSourceError.invalidRedirect(url, location: "http://other/, \(url)"),
            DataSourceError.tooManyRedirects(url, count: 1, last: url),
            TransferRedirect(request: request, response: response, next: request),
            AuthenticationChallenge(request: request, response: response),
        ]
        let texts = shown.flatMap {
            ["\($0)", String(reflecting: $0), ($0 as? any Error)?.localizedDescription ?? "\($0)"]
        }
        for text in texts {
            #expect(text.contains("http://example.org/it") && !text.contains("secret"), "\(text)")
        }
    }
}
