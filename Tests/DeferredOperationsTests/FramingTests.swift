import Deferred
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import DeferredOperations

/// How the length of a body is sent: once, and only if it is the body's.
@Suite(.watchdog(atOnce: .few))
struct FramingTests {
    let fixture = TransferFixture()

    private static let text = "ten bytes."

    private func put(_ change: TransferFixture.Change) async throws -> [Request] {
        _ = try await fixture.load(.text("in")) { request, options in
            request.httpMethod = "PUT"
            change(&request, &options)
        }
        return fixture.server.requests
    }

    private static func stream() -> InputStream { InputStream(data: Data(text.utf8)) }

    @Test("O11: a body of known length is sent with its length, and in no other framing")
    func oneFraming() async throws {
        try fixture.write(Self.text, to: "body")
        let file = fixture.file("body")
        var form = MultipartForm()
        form.add("file", file: file)
        let changes: [TransferFixture.Change] = [
            { request, _ in request.httpBody = Data(Self.text.utf8) },
            { $1.uploadFile = file },
            { $1.uploadForm = form },
            { ($1.makeBodyStream, $1.bodyByteCount) = ({ Self.stream() }, 10) },
            { request, options in
                options.makeBodyStream = { Self.stream() }
                request.setValue("10", forHTTPHeaderField: "content-length")
            },
            { request, options in
                (request.httpBodyStream, options.bodyByteCount) = (Self.stream(), 10)
                request.setValue("10", forHTTPHeaderField: "Content-Length")
            },
            { ($1.makeBodyStream, $1.bodyByteCount) = ({ InputStream(data: Data()) }, 0) },
        ]
        for change in changes {
            let request = try #require(try await put(change).last)
            let lengths = request.headers.filter { $0.name.lowercased() == "content-length" }.map(\.value)
            #expect(lengths == ["\(request.bodyByteCount)"])
            #expect(request[header: "Transfer-Encoding"] == nil)
            let isForm = request[header: "Content-Type"]?.contains("multipart") == true
            #expect(isForm || [Self.text, ""].contains(String(decoding: request.body, as: UTF8.self)))
        }
        let chunked = try #require(try await put { $1.makeBodyStream = { Self.stream() } }.last)
        #expect(chunked[header: "Transfer-Encoding"] == "chunked" && chunked[header: "Content-Length"] == nil)
        #expect(chunked.bodyByteCount == 10)
    }

    @Test(
        "O11: a stream is read to its announced length in pieces, and sent again with it",
        arguments: [307, 401])
    func again(_ status: Int) async throws {
        let body = Data(Pattern.bytes(300_000))
        fixture.server.route("/target", .text("in"))
        let asking =
            status == 307
            ? Answer.redirect(to: "/target", status: 307)
            : .authenticated(basic: "bWU6c2VjcmV0", then: .text("in"))
        _ = try await fixture.load(asking) { request, options in
            request.httpMethod = "PUT"
            (options.makeBodyStream, options.bodyByteCount) = ({ InputStream(data: body) }, 300_000)
            options.onChallenge = { .resolved($0.answered(user: "me", password: "secret")) }
        }
        let requests = fixture.server.requests
        #expect(requests.map(\.bodyByteCount) == [300_000, 300_000])
        #expect(requests.allSatisfy { $0.bodyIsPattern && $0[header: "Content-Length"] == "300000" })
    }

    @Test("O11: the length of a body is not that of a request without one, which a redirect leads to")
    func droppedByRedirect() async throws {
        fixture.server.route("/target", .text("in"))
        for follows in [false, true] {
            _ = try await fixture.load(.redirect(to: "/target", status: 303)) { request, options in
                request.httpMethod = "POST"
                request.setValue("10", forHTTPHeaderField: "Content-Length")
                (options.makeBodyStream, options.bodyByteCount) = ({ Self.stream() }, 10)
                if follows { options.onRedirect = { _ in .resolved(.follow) } }
            }
        }
        let last = try #require(fixture.server.requests.last)
        #expect(last.method == "GET" && last[header: "Content-Length"] == nil)
    }

    /// Lengths that contradict the body, and the words of the error.
    private static var contradictions: [(words: String, change: TransferFixture.Change)] {
        [
            (
                "a length of 5 bytes is stated, and the body has 10",
                { request, _ in
                    request.httpBody = Data(text.utf8)
                    request.setValue("5", forHTTPHeaderField: "Content-Length")
                }
            ),
            (
                "a length of 5 bytes is stated, and the body has 0",
                { request, _ in
                    request.httpMethod = "GET"
                    request.setValue("5", forHTTPHeaderField: "Content-Length")
                }
            ),
            (
                "a length of 5 bytes is stated, and the body has 0",
                { request, options in (request.httpMethod, options.bodyByteCount) = ("DELETE", 5) }
            ),
            (
                "a Content-Length of 5, where bodyByteCount is 10",
                { request, options in
                    (options.makeBodyStream, options.bodyByteCount) = ({ stream() }, 10)
                    request.setValue("5", forHTTPHeaderField: "Content-Length")
                }
            ),
            (
                "a Content-Length of 5, 5, which is no length",
                { request, options in
                    options.makeBodyStream = { stream() }
                    request.setValue("5, 5", forHTTPHeaderField: "Content-Length")
                }
            ),
            ("a bodyByteCount of -1", { ($1.makeBodyStream, $1.bodyByteCount) = ({ stream() }, -1) }),
            (
                "a Transfer-Encoding of chunked",
                { request, _ in
                    request.httpBody = Data(text.utf8)
                    request.setValue("chunked", forHTTPHeaderField: "transfer-encoding")
                }
            ),
            (
                "a Transfer-Encoding of gzip",
                { request, _ in
                    request.httpMethod = "GET"
                    request.setValue("gzip", forHTTPHeaderField: "Transfer-Encoding")
                }
            ),
        ]
    }

    @Test(
        "O11: a length that contradicts the body, and a framing of the caller's own, are refused before it is sent"
    )
    func contradictions() async throws {
        try fixture.write(Self.text, to: "body")
        let file = fixture.file("body")
        let contradicted: (String, TransferFixture.Change) = (
            "a length of 11 bytes is stated, and the body has 10",
            { ($1.uploadFile, $1.bodyByteCount) = (file, 11) }
        )
        for (words, change) in Self.contradictions + [contradicted] {
            await expectFailure("invalidRequest", words) { try await put(change) }
        }
        var form = MultipartForm()
        form.add("file", file: file)
        await expectFailure("invalidRequest", "a length of 11 bytes is stated, and the body has") {
            try await put { [form] in ($1.uploadForm, $1.bodyByteCount) = (form, 11) }
        }
        #expect(fixture.server.requests.isEmpty)
    }

    @Test("O11: a stream with fewer or more bytes than announced is refused before its end has been sent")
    func wrongStream() async throws {
        for (count, words) in [(9, "it has more than 9 bytes"), (11, "it has ended after 10 of 11 bytes")] {
            await expectFailure("invalidRequest", "the body stream cannot be read: \(words)") {
                try await put { ($1.makeBodyStream, $1.bodyByteCount) = ({ Self.stream() }, Int64(count)) }
            }
        }
        // No request has arrived as a whole.
        await fixture.server.waitUntilDisconnected()
        #expect(fixture.server.requests.isEmpty)
    }

    @Test("O11: a request that a closure has changed is checked, too")
    func changed() async throws {
        fixture.server.route("/target", .text("in"))
        await expectFailure("invalidRequest", "a Transfer-Encoding of chunked") {
            try await fixture.load(.redirect(to: "/target")) {
                $1.onRedirect = { redirect in
                    var next = redirect.next
                    next.setValue("chunked", forHTTPHeaderField: "Transfer-Encoding")
                    return .resolved(.change(next))
                }
            }
        }
        #expect(fixture.server.requests.map(\.path) == ["/it"])
    }

    @Test("A file whose type the caller does not state is sent without one", arguments: ["POST", "PUT"])
    func noType(_ method: String) async throws {
        try fixture.write(Self.text, to: "body")
        let requests = try await put { ($0.httpMethod, $1.uploadFile) = (method, fixture.file("body")) }
        #expect(requests.map { $0[header: "Content-Type"] } == [nil])
    }

    @Test(
        "O8: a file that becomes shorter while it is sent is a failure, and one that grows is sent as it was")
    func changing() throws {
        let file = fixture.file("body")
        try fixture.write(Self.text, to: "body")
        let handle = try FileHandle(forWritingTo: file)
        for (length, expected) in [(4, "it has ended after 5 of 10 bytes"), (12, nil)] {
            try handle.truncate(atOffset: 10)
            let open = try file.openUpload(to: fixture.url())
            let body = BodyStream(.file(open), byteCount: open.byteCount)
            body.open()
            var (buffer, received) = ([UInt8](repeating: 0, count: 5), 0)
            while case let count = body.read(&buffer, maxLength: 5), count > 0 {
                received += count
                try handle.truncate(atOffset: UInt64(length))
            }
            #expect(body.fault == expected && received == (expected == nil ? 10 : 5))
        }
    }
}
