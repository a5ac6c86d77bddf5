import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// A thousand generated answers of a real server: statuses, headers, lengths, chunks, parts and redirects at random.
///
/// None is of those that stop the process: see "Known faults of Foundation on Linux".
@Suite(.watchdog(atOnce: .few))
struct GeneratedAnswerTests {
    /// What a server sends, and what a client may make of it.
    private struct Generated {
        var head = ""
        var body: [UInt8] = []
        /// The bytes of the resource, or of its part, by the rules of HTTP; nil if there are none.
        var expected: [UInt8]?
        /// Whether nothing else than a success is right.
        var isProper = false
        var redirects = 0

        /// - Parameter range: What was asked for.
        init(_ random: inout Seeded, asked range: Range<Int>?, path: String) {
            let whole = Pattern.bytes(random.chance(10) ? 0 : random.below(20_000))
            var content = whole
            var status = 200
            // What a server sends beyond its answer must not become the answer to another request.
            var headers = ["Connection: close"]
            isProper = true
            if let range, !whole.isEmpty, range.lowerBound < whole.count, random.chance(70) {
                status = 206
                let part = range.clamped(to: 0..<whole.count)
                content = Array(whole[part])
                // A part that was not asked for, or contradicts itself.
                let first = random.chance(80) ? part.lowerBound : part.lowerBound + 1
                let total =
                    random.chance(80) ? "\(whole.count)" : ["*", "1", "x", ""].randomElement(using: &random)!
                headers.append("Content-Range: bytes \(first)-\(part.upperBound - 1)/\(total)")
                isProper = first == part.lowerBound && total == "\(whole.count)"
                if first != part.lowerBound || total == "1" { expected = nil } else { expected = content }
            } else if range == nil, random.chance(5) {
                (status, isProper) = (206, false)
                headers.append("Content-Range: bytes 0-\(max(0, whole.count - 1))/\(whole.count)")
            } else {
                expected = content
            }
            if random.chance(15) {
                status = [204, 301, 304, 401, 404, 407, 416, 418, 500, 503, 599, 999].randomElement(
                    using: &random)!
                (isProper, expected) = (false, status == 204 ? [] : nil)
            }
            Self.addNoise(&headers, &random)
            frame(content, &headers, &random, hasBody: status != 204 && status != 304)
            let reason = ["OK", "", "Nobody knows", "a:b"].randomElement(using: &random)!
            head = "HTTP/1.1 \(status) \(reason)\r\n" + headers.map { $0 + "\r\n" }.joined() + "\r\n"
            if random.chance(5) { head = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + head }
            if random.chance(10) { redirects = 1 + random.below(3) }
        }

        /// Headers that change nothing.
        private static func addNoise(_ headers: inout [String], _ random: inout Seeded) {
            for _ in 0..<random.below(4) {
                let noise = [
                    "X-Empty:", "X-Long: \(String(repeating: "x", count: random.below(3000)))",
                    "Server:   spaces   ",
                    "Accept-Ranges: bytes", "ETag: \"\(random.below(3))\"", "ETag: W/\"weak\"", "x-lower: 1",
                    "Last-Modified: never", "Date: Sat, 99 Jan 2022 00:00:00 GMT", "Vary: *", "Age: -1",
                    "Content-Type: multipart/broken", "Set-Cookie: a=b; Path=/",
                    "Retry-After: 99999999999999999999",
                ]
                headers.append(noise.randomElement(using: &random)!)
            }
        }

        /// Frames the body: rightly, or not.
        private mutating func frame(
            _ content: [UInt8], _ headers: inout [String], _ random: inout Seeded, hasBody: Bool
        ) {
            guard hasBody else { return }
            switch random.below(12) {
            case 0...3:
                headers.append("Content-Length: \(content.count)")
                body = content
            case 4, 5: chunk(content, &headers, &random)
            case 6:  // Until the connection is closed.
                body = content
            case 7:  // Truncated.
                headers.append("Content-Length: \(content.count + 1 + random.below(1000))")
                (body, expected, isProper) = (content, nil, false)
            case 8:  // More than announced: HTTP takes the beginning.
                let count = random.below(content.count + 1)
                headers.append("Content-Length: \(count)")
                (body, isProper) = (content, false)
                expected = expected.map { Array($0.prefix(count)) }
            case 9:
                let lengths = [
                    "-1", "1e3", "0x10", "99999999999999999999", "18446744073709551616", "", "five", "1, 2",
                ]
                headers.append("Content-Length: \(lengths.randomElement(using: &random)!)")
                (body, isProper) = (content, false)
            case 10:  // Two lengths that differ.
                headers += ["Content-Length: \(content.count)", "Content-Length: \(content.count + 7)"]
                (body, expected, isProper) = (content, nil, false)
            default:
                headers += ["Content-Encoding: gzip", "Content-Length: \(content.count)"]
                body = content
                if !content.isEmpty { (expected, isProper) = (nil, false) }
            }
        }

        private mutating func chunk(_ content: [UInt8], _ headers: inout [String], _ random: inout Seeded) {
            headers.append("Transfer-Encoding: chunked")
            // It is ignored beside chunks.
            if random.chance(20) { headers.append("Content-Length: \(random.below(100))"); isProper = false }
            var rest = content[...]
            while !rest.isEmpty {
                let piece = rest.prefix(1 + random.below(5000))
                rest = rest.dropFirst(piece.count)
                let head = String(piece.count, radix: 16) + (random.chance(10) ? ";ext=1" : "")
                body += Array("\(head)\r\n".utf8) + piece + [13, 10]
            }
            switch random.below(10) {
            case 0: (expected, isProper) = (nil, false)  // It breaks off.
            case 1:
                body += Array("zz\r\n".utf8)
                (expected, isProper) = (nil, false)
            default: body += Array("0\r\n\r\n".utf8)
            }
        }
    }

    private enum Kind: CaseIterable { case load, download, resumed, stream }

    let fixture = TransferFixture()

    /// Requests what the seed generates; returns what is wrong with the outcome.
    private func run(_ seed: UInt64) async -> (fault: String?, isSuccess: Bool) {
        var random = Seeded(state: seed)
        let kind = Kind.allCases[random.below(Kind.allCases.count)]
        let range = kind != .resumed && random.chance(20) ? random.below(50)..<100 + random.below(9000) : nil
        let path = "/\(seed)"
        let generated = Generated(&random, asked: range, path: path)
        if ProcessInfo.processInfo.environment["SEED"] != nil {
            print(kind, generated.head, generated.body.count)
        }
        let answer = Answer { exchange in
            exchange.keepsAlive = false
            try exchange.send(generated.head)
            try exchange.send(generated.body)
            try exchange.hangUp()
        }
        let redirects = (0..<generated.redirects).map { Answer.redirect(to: "\(path)?\($0)", status: 307) }
        let asked = Observations<Void>()
        fixture.server.route(path) { _ in
            asked.note(())
            return asked.all.count <= redirects.count ? redirects[asked.all.count - 1] : answer
        }
        var address = URLComponents(url: fixture.url(path), resolvingAgainstBaseURL: false)!
        if random.chance(10) { (address.user, address.password) = ("me", "secret") }
        var request = URLRequest(url: address.url!)
        if let range {
            request.setValue("bytes=\(range.lowerBound)-\(range.upperBound - 1)", forHTTPHeaderField: "Range")
        }
        var options = TransferOptions.patient
        if random.chance(10) { options.validateResponse = { _ in } }
        do {
            let bytes = try await bytes(kind, request, options, "\(seed)")
            if generated.expected.map({ Data($0) }) == bytes { return (nil, true) }
            return (
                "\(kind): \(bytes.count) bytes, expected \(generated.expected?.count ?? -1): \(generated.head)",
                true
            )
        } catch {
            let text = "\(error)" + String(reflecting: error)
            let left = fixture.names.filter { $0 == "\(seed)" || kind != .resumed && $0.hasPrefix("\(seed)") }
            if !left.isEmpty { return ("\(kind): left \(left)", false) }
            if text.contains("secret") { return ("\(kind): \(text)", false) }
            guard error is DataSourceError, "\(error)".contains("127.0.0.1") else {
                return ("\(kind): \(error)", false)
            }
            return (generated.isProper ? "\(kind): \(error), for \(generated.head)" : nil, false)
        }
    }

    private func bytes(_ kind: Kind, _ request: URLRequest, _ options: TransferOptions, _ name: String)
        async throws -> Data
    {
        switch kind {
        case .load:
            return try await URLDataSource(request, options: options).request(on: fixture.queue).value.data
        case .stream:
            let source = StreamDataSource(
                request, bufferByteCount: 1000, pauseByteCount: 3000, options: options)
            _ = source.request(on: fixture.queue)
            var data = Data()
            for try await piece in source.body { data.append(piece) }
            return data
        case .download, .resumed:
            let file = try await DownloadDataSource(
                request, to: fixture.file(name), options: options, download: .init(resumes: kind == .resumed)
            ).request(on: fixture.queue).value
            return try Data(contentsOf: file.url)
        }
    }

    @Test("O4, O5: each generated answer is right byte for byte, or a clear error")
    func answers() async throws {
        var (successes, errors) = (0, 0)
        var faults = Faults()
        let all = seeds(Extent.programs(300, share: 0.004), "GeneratedAnswerTests")
        for start in stride(from: all.lowerBound, to: all.upperBound, by: 8) {
            try Task.checkCancellation()
            await withTaskGroup { group in
                for seed in start..<min(start + 8, all.upperBound) {
                    group.addTask { (seed, await run(seed)) }
                }
                for await (seed, (fault, isSuccess)) in group {
                    faults.check(fault == nil, "SEED=\(seed) \(fault ?? "")")
                    if isSuccess { successes += 1 } else { errors += 1 }
                }
            }
        }
        faults.report()
        #expect(all.count == 1 || min(successes, errors) * 10 > all.count * 3)
    }
}
