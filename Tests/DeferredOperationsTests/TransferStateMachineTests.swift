import Deferred
import Foundation
import Testing

@testable import DeferredOperations

/// The state machine of a transfer, driven by events alone.
struct TransferStateMachineTests {
    let address = "http://example.org/it"
    var request: URLRequest { URLRequest(url: URL(string: address)!) }

    func response(_ status: Int = 200, _ headers: [String: String] = [:]) -> HTTPURLResponse {
        .of(address, status, headers)
    }

    func words(_ simulation: inout Simulation) -> String {
        switch simulation.conclude() {
        case .success(let response): "\(response.statusCode)"
        case .failure(let error): "\(error)"
        case nil: "none"
        }
    }

    @Test("O4: more bytes than announced, fewer, and none at all are errors, and are not passed on")
    func lengths() {
        for (piece, expected) in [
            ("hello!", "a body of more than 5 bytes"), ("hell", "truncated: 4 of 5 bytes"),
        ] {
            let sink = MemorySink(request)
            var simulation = Simulation.started(request, into: sink)
            simulation.handle(.head(response(200, ["Content-Length": "5"])))
            simulation.handle(.bytes(Data(piece.utf8)))
            if simulation.phase == .receiving { simulation.handle(.completed(nil)) }
            #expect(words(&simulation).hasSuffix(expected))
            #expect(sink.data.isEmpty)
        }
        var simulation = Simulation.started(request, into: MemorySink(request))
        simulation.handle(.completed(nil))
        #expect(words(&simulation).hasSuffix("no status"))
    }

    // MARK: O7

    /// Answers a request with so many redirects to another path.
    private func redirect(_ simulation: inout Simulation, _ count: Int) {
        for number in 0..<count {
            simulation.handle(.head(response(302, ["Location": "/\(number)"])))
            simulation.handle(.completed(nil))
        }
    }

    @Test("O7: redirects are counted anew for the rest after a pause, however many pauses there are")
    func redirectsAfterPauses() {
        let sink = ScriptedSink(request, isEndless: true)
        sink.isFull = true
        var simulation = Simulation.started(request, into: sink)
        for _ in 0..<10 {
            redirect(&simulation, 19)
            simulation.handle(.head(response()))
            simulation.handle(.bytes(Data([1])))
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
        var options = TransferOptions()
        options.onChallenge = { .resolved($0.request) }
        let sink = ScriptedSink(request, isEndless: true, mirrors: [request, request])
        var simulation = Simulation.started(request, options, into: sink)
        func refuse(_ times: Int) {
            for _ in 0..<times {
                simulation.handle(.head(response(401)))
                simulation.handle(.completed(nil))
                if simulation.phase == .asking { simulation.handle(.answered(.success(request))) }
            }
        }
        for _ in 0..<5 {
            refuse(3)
            simulation.handle(.head(response()))
            simulation.handle(.completed(nil))
            #expect(simulation.phase == .requesting)
        }
        refuse(4)  // The first mirror is asked.
        #expect(simulation.phase == .requesting && sink.mirrors.count == 1)
        refuse(4)
        #expect(simulation.phase == .requesting && sink.mirrors.isEmpty)
        refuse(3)
        #expect(simulation.phase == .requesting)
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
            simulation.handle(.head(response(row.status, ["Location": row.location])))
            simulation.handle(.completed(nil))
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
            simulation.handle(.head(response(status, ["Location": "/target"])))
            simulation.handle(.completed(nil))
            simulation.handle(.answered(.success(next)))
            #expect(self.words(&simulation).hasSuffix(words), "\(words)")
            #expect(simulation.sent.count == 1)
        }
    }

    // MARK: Streams

    /// Streams until the buffer is full, and continues; returns the simulation and the request for the rest.
    private func paused(_ headers: [String: String]) -> Simulation {
        let sink = StreamSink(StreamBuffer(limit: 1, pauseByteCount: 1), for: request) { _ in }
        var simulation = Simulation.started(request, into: sink)
        let all = ["ETag": "\"a\"", "Accept-Ranges": "bytes", "Content-Length": "10"].merging(headers) { $1 }
        simulation.handle(.head(response(200, all)))
        for _ in 0..<2 { simulation.handle(.bytes(Data(count: 4))) }
        return simulation
    }

    @Test("Streams: a rest of another length than announced is an error, as is one of another resource")
    func otherRest() {
        for (range, tag) in [("bytes 8-9/11", "\"a\""), ("bytes 7-9/10", "\"a\""), ("bytes 8-9/10", "\"b\"")]
        {
            var simulation = paused([:])
            #expect(simulation.phase == .paused)
            simulation.handle(.room)
            #expect(simulation.sent.last?.value(forHTTPHeaderField: "Range") == "bytes=8-")
            simulation.handle(.head(response(206, ["Content-Range": range, "ETag": tag])))
            #expect(words(&simulation).contains("not proper HTTP"), "\(range) \(tag)")
        }
    }

    @Test("Streams: a body that is compressed, or of a server without ranges or validator, does not pause")
    func notContinued() {
        for headers in [["Content-Encoding": "gzip"], ["Accept-Ranges": "none"], ["ETag": "W/\"a\""]] {
            #expect(paused(headers).phase == .receiving, "\(headers)")
        }
    }

    @Test(
        "O4, O5: a part is the one that was requested, and whole, or an error; several are passed on as they are"
    )
    func parts() {
        let rows: [(range: String, answered: String?, sent: Int, expected: String)] = [
            ("bytes=100-299", "bytes 100-299/1000", 200, "206"),
            ("bytes=900-5000", "bytes 900-999/1000", 100, "206"),
            ("bytes=-100", "bytes 900-999/1000", 100, "206"),
            ("bytes=0-1,5-6", "multipart/byteranges", 7, "206"),
            ("bytes=100-299", "bytes 100-299/1000", 50, "50 of 200 bytes"),
            ("bytes=100-299", "bytes 100-199/1000", 100, "100 of 200 bytes"),
            ("bytes=100-", "bytes 100-199/1000", 100, "100 of 900 bytes"),
            ("bytes=100-199", "bytes 0-99/1000", 100, "a part that was not asked for"),
            ("bytes=500-", nil, 500, "a part (206) without Content-Range"),
            ("bytes=500-", "bytes 500-400/1000", 500, "\"bytes 500-400/1000\""),
            ("bytes=500-", "bytes 500-1000/1000", 500, "\"bytes 500-1000/1000\""),
            ("bytes=500-", "items 500-999/1000", 500, "\"items 500-999/1000\""),
        ]
        for row in rows {
            var request = request
            request.setValue(row.range, forHTTPHeaderField: "Range")
            var headers = row.answered.map { ["Content-Range": $0] } ?? [:]
            if row.range.contains(",") { headers = ["Content-Type": "multipart/byteranges; boundary=x"] }
            var simulation = Simulation.started(request, into: MemorySink(request))
            simulation.handle(.head(response(206, headers)))
            if simulation.phase == .receiving {
                simulation.handle(.bytes(Data(count: row.sent)))
                simulation.handle(.completed(nil))
            }
            #expect(words(&simulation).hasSuffix(row.expected), "\(row)")
        }
    }

    @Test("Limits: what an earlier attempt has left counts, announced or not")
    func limitOfRest() {
        let sink = ScriptedSink(request, before: 8)
        var simulation = Simulation.started(request, TransferOptions(maximumByteCount: 10), into: sink)
        simulation.handle(.head(response()))
        simulation.handle(.bytes(Data(count: 3)))
        #expect(words(&simulation).hasSuffix("larger than the limit of 10 bytes"))
    }

    // MARK: Validation

    @Test("O5: a sink receives nothing of an answer before it is accepted, and all of it then, in order")
    func staging() {
        var options = TransferOptions()
        options.validateResponse = { _ in }
        let sink = MemorySink(request)
        var simulation = Simulation.started(request, options, into: sink)
        simulation.handle(.head(response(200, ["Content-Length": "6"])))
        simulation.handle(.bytes(Data("ab".utf8)))
        #expect(sink.data.isEmpty && !simulation.actions.contains("accept"))
        simulation.handle(.checked(nil))
        #expect(simulation.phase == .flushing && sink.data.isEmpty)
        simulation.handle(.bytes(Data("cd".utf8)))
        simulation.flush()
        simulation.handle(.bytes(Data("ef".utf8)))
        simulation.handle(.completed(nil))
        for _ in 0..<3 { simulation.flush() }
        #expect(words(&simulation) == "200" && sink.data == Data("abcdef".utf8))
        #expect(simulation.actions.filter { $0 == "accept" }.count == 1)
    }

    @Test("O6: what arrives while staged bytes are passed on is reported, also if nothing follows")
    func reportAfterFlushing() {
        let options = TransferOptions(validateResponse: { _ in })
        var simulation = Simulation.started(request, options, into: MemorySink(request))
        simulation.handle(.head(response(200, ["Content-Length": "6"])))
        simulation.handle(.bytes(Data("ab".utf8)))
        simulation.handle(.checked(nil))
        #expect(simulation.actions.suffix(2) == ["report", "flush"])
        simulation.handle(.bytes(Data("cd".utf8)))
        for _ in 0..<3 { simulation.flush() }
        #expect(simulation.phase == .receiving && simulation.machine.progress.received == 4)
        #expect(simulation.actions.suffix(2) == ["report", "accept"])
    }

    @Test("Limits: what is staged after a mirror has failed counts alone")
    func limitAfterMirror() {
        var options = TransferOptions()
        (options.maximumByteCount, options.validateResponse) = (10, { _ in })
        let sink = ScriptedSink(request, mirrors: [request])
        var simulation = Simulation.started(request, options, into: sink)
        for isFirst in [true, false] {
            simulation.handle(.head(response()))
            simulation.handle(.bytes(Data(count: 9)))
            simulation.handle(.checked(nil))
            simulation.flush()
            simulation.flush()
            simulation.handle(.completed(isFirst ? URLError(.networkConnectionLost) : nil))
        }
        #expect(words(&simulation) == "200")
    }

    @Test("O5: what a mirror sends is validated, also if it is the rest of a body")
    func validatedMirror() {
        var rest = request
        rest.setValue("bytes=1-", forHTTPHeaderField: "Range")
        let sink = ScriptedSink(request, mirrors: [rest])
        var simulation = Simulation.started(request, TransferOptions(validateResponse: { _ in }), into: sink)
        simulation.handle(.head(response()))
        simulation.handle(.checked(nil))
        simulation.flush()
        simulation.handle(.completed(URLError(.networkConnectionLost)))
        simulation.handle(.head(response(206, ["Content-Range": "bytes 1-2/3"])))
        #expect(simulation.phase == .staging)
    }

    // MARK: Silence

    @Test("Silence: eight ticks without a sign of life end the transfer; any sign begins anew")
    func silence() {
        let options = TransferOptions(silenceTimeout: .seconds(8))
        var simulation = Simulation(request, options, into: MemorySink(request))
        func tick(_ count: Int) { for _ in 0..<count { simulation.handle(.tick(isHeldUp: false)) } }
        simulation.handle(.start)
        tick(20)  // No request has been sent.
        simulation.handle(.prepared)
        tick(7)
        simulation.handle(.sent(10))
        tick(8)
        simulation.handle(.head(response(103)))
        tick(8)
        simulation.handle(.head(response()))
        tick(8)
        simulation.handle(.bytes(Data([0])))
        tick(8)
        simulation.handle(.tick(isHeldUp: true))
        tick(7)
        #expect(simulation.phase == .receiving)
        let round = simulation.machine.round
        tick(1)
        #expect(simulation.phase == .ending)
        simulation.handle(.bytes(Data([1])), of: round)
        simulation.handle(.completed(URLError(.networkConnectionLost)), of: round)
        #expect(words(&simulation).hasSuffix("timed out: nothing heard for 8 s"))
    }

    @Test("Silence: without a limit of the options, the request's own timeout is the limit")
    func requestTimeout() {
        var request = request
        for (interval, limit) in [(0.5, Duration.milliseconds(500)), (0, .seconds(60)), (.infinity, nil)] {
            request.timeoutInterval = interval
            #expect(Simulation(request, into: MemorySink(request)).machine.silence == limit)
        }
    }

    @Test("Silence: does not count while the whole is verified")
    func verifying() {
        let sink = ScriptedSink(request)
        sink.verifies = true
        var simulation = Simulation.started(request, into: sink)
        simulation.handle(.head(response()))
        simulation.handle(.completed(nil))
        for _ in 0..<20 { simulation.handle(.tick(isHeldUp: false)) }
        simulation.handle(.checked(nil))
        #expect(words(&simulation) == "200")
    }

    @Test("Silence: of one server uses up one mirror, also if the connection breaks at the same moment")
    func silentMirror() {
        let options = TransferOptions(silenceTimeout: .seconds(8))
        let mirrors = ["http://b.example", "http://c.example"].map { URLRequest(url: URL(string: $0)!) }
        let sink = ScriptedSink(request, mirrors: mirrors)
        var simulation = Simulation.started(request, options, into: sink)
        let round = simulation.machine.round
        for _ in 0..<8 { simulation.handle(.tick(isHeldUp: false)) }
        simulation.handle(.completed(URLError(.networkConnectionLost)), of: round)
        // The next one has the whole time.
        for host in ["b.example", "c.example"] {
            for _ in 0..<7 { simulation.handle(.tick(isHeldUp: false)) }
            #expect(simulation.phase == .requesting && simulation.machine.request.url?.host == host)
            simulation.handle(.tick(isHeldUp: false))
        }
        #expect(simulation.phase == .ending)
    }

    @Test("Pauses: where a task can be suspended it is, and no rest is requested")
    func suspending() {
        let sink = ScriptedSink(request)
        var simulation = Simulation.started(request, into: sink, suspendsTasks: true)
        simulation.handle(.head(response(200, ["Content-Length": "3"])))
        sink.isFull = true
        simulation.handle(.bytes(Data([1])))
        simulation.handle(.bytes(Data([2])))
        #expect(simulation.phase == .paused)
        for _ in 0..<20 { simulation.handle(.tick(isHeldUp: false)) }
        sink.isFull = false
        simulation.handle(.room)
        simulation.handle(.bytes(Data([3])))
        simulation.handle(.completed(nil))
        #expect(words(&simulation) == "200" && sink.data == Data([1, 2, 3]))
        #expect(simulation.sent.count == 1)
        #expect(simulation.actions.filter { ["suspend", "resume"].contains($0) } == ["suspend", "resume"])
    }

    @Test("O9: no error names the password of an address")
    func passwords() {
        let request = URLRequest(url: URL(string: "http://me:secret@example.org/it")!)
        let heads: [(Int, [String: String])] = [
            (404, ["Location": "http://me:secret@example.org/"]),
            (302, ["Location": "ftp://me:secret@other/x"]),
            (206, [:]), (200, ["Content-Length": "99999999999999999999"]), (302, ["Location": "/it"]),
        ]
        for (status, headers) in heads {
            var simulation = Simulation.started(
                request, TransferOptions(maximumRedirectCount: 0), into: MemorySink(request))
            simulation.handle(.head(.of("http://me:secret@example.org/it", status, headers)))
            if simulation.phase == .sampling { simulation.handle(.completed(nil)) }
            let text = String(reflecting: simulation.conclude())
            #expect(text.contains("failure") && !text.contains("secret"), "\(text)")
        }
        var simulation = Simulation.started(request, into: MemorySink(request))
        simulation.handle(.head(.of("http://me:secret@example.org/it", 200)))
        simulation.handle(.completed(nil))
        #expect(!String(reflecting: simulation.conclude()).contains("secret"))
    }
}

extension TransferStateMachineTests {
    @Test("O4: a socket that cannot be made is a failure to connect, by libcurl's text alone")
    func noSocket() {
        var simulation = Simulation.started(request, into: MemorySink(request))
        let text = "Failed to connect to example.org port 80 after 0 ms: Couldn't connect to server"
        simulation.handle(.completed(URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: text])))
        #expect(words(&simulation).hasSuffix("cannot connect: \(text)"))
    }

    @Test("O4: a length that is no number is an error, and equal lengths count as one")
    func contentLengths() {
        for (length, isRight) in [
            ("5", true), ("5, 5", true), ("5,5", true), ("", true), ("1e3", false), ("-1", false),
            ("0x5", false),
            ("5, 6", false), (",", false), ("18446744073709551616", false), ("five", false), (" 5 5", false),
        ] {
            let sink = MemorySink(request)
            var simulation = Simulation.started(request, into: sink)
            simulation.handle(.head(response(200, ["Content-Length": length])))
            #expect((simulation.phase == .receiving) == isRight, "\(length)")
        }
    }
}
