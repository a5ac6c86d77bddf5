import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Bodies of files, streams and forms: read, refused, and sent more than once.
@Suite(.watchdog(atOnce: .few))
struct UploadTests {
    /// Has some bytes, and then an error.
    private final class BreakingStream: InputStream {
        private var rest: Int
        private var status = Stream.Status.notOpen
        struct Broken: LocalizedError { var errorDescription: String? { "the tape broke" } }

        init(after count: Int) {
            rest = count
            super.init(data: Data())
        }

        override var streamStatus: Stream.Status { status }
        override var streamError: (any Error)? { status == .error ? Broken() : nil }
        override var hasBytesAvailable: Bool { status == .open }
        override func open() { if status == .notOpen { status = .open } }
        override func close() {}
        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
            guard rest > 0 else {
                status = .error
                return -1
            }
            let count = min(rest, maxLength)
            rest -= count
            buffer.update(repeating: 7, count: count)
            return count
        }
    }

    let fixture = TransferFixture()

    /// Uploads to `/it`, and returns the error, in words.
    private func failure(_ change: TransferFixture.Change) async -> String {
        let error = await fixture.failure(of: .echo) { request, options in
            request.httpMethod = "PUT"
            change(&request, &options)
        }
        return "\(error)"
    }

    // MARK: Bodies that cannot be read

    @Test(
        "O8: a body that cannot be made or read, a second one, and that of a GET fail before anything is sent"
    )
    func unreadable() async {
        struct Mine: Error {}
        let missing = fixture.file("nothing").path
        let rows: [(words: String, change: TransferFixture.Change)] = [
            ("the body stream cannot be read", { $1.makeBodyStream = { InputStream(fileAtPath: missing)! } }),
            (
                "the body stream cannot be read",
                { request, _ in request.httpBodyStream = InputStream(fileAtPath: missing)! }
            ),
            ("Mine()", { $1.makeBodyStream = { throw Mine() } }),
            ("more than one body", { ($0.httpBody, $1.uploadForm) = (Data([1]), MultipartForm()) }),
            ("a GET has no body", { ($0.httpMethod, $1.uploadForm) = ("GET", MultipartForm()) }),
            (
                "a GET has no body",
                { request, _ in (request.httpMethod, request.httpBody) = ("GET", Data([1])) }
            ),
        ]
        for row in rows {
            let error = await failure(row.change)
            #expect(error.contains(row.words), "\(error)")
            #expect(error == "Mine()" || error.hasPrefix("\(fixture.url())"), "\(error)")
        }
        #expect(fixture.server.requests.isEmpty)
    }

    @Test("O8: a stream that breaks is a failure", arguments: [0, 5, 100_000])
    func breaks(_ count: Int) async {
        let error = await failure { $1.makeBodyStream = { BreakingStream(after: count) } }
        #expect(error.contains("the body stream cannot be read") && error.contains("the tape broke"))
    }

    @Test("O8: a file that is gone when it is to be sent again is a failure")
    func fileIsGone() async throws {
        let file = fixture.file("body")
        try fixture.write("body", to: "body")
        fixture.server.route("/first", .redirect(to: "/it", status: 307))
        let error = await failure { request, options in
            request.url = fixture.url("/first")
            options.uploadFile = file
            options.onRedirect = { _ in
                try FileManager.default.removeItem(at: file)
                return .resolved(.follow)
            }
        }
        #expect(error.contains("cannot be read for the upload"), "\(error)")
        #expect(fixture.server.requests.map(\.path) == ["/first"])
    }

    @Test("What is not a regular file is refused, in a form and as a body", arguments: [false, true])
    func noRegularFile(_ isForm: Bool) async throws {
        try #require(mkfifo(fixture.file("pipe").path, 0o600) == 0)
        for (path, reason) in [
            (fixture.file("nothing").path, "No such file or directory"),
            ("/dev/null", "it is a pipe, a device or a socket"),
            (fixture.file("pipe").path, "it is a pipe, a device or a socket"),
            (fixture.folder.path, "it is a directory"),
        ] {
            let file = URL(fileURLWithPath: path)
            var form = MultipartForm()
            form.add("file", file: file)
            let error = await failure { if isForm { $1.uploadForm = form } else { $1.uploadFile = file } }
            #expect(error.hasSuffix("\(path) cannot be read for the upload: \(reason)"), "\(error)")
        }
        #expect(fixture.server.requests.isEmpty)
    }

    #if os(Linux)
    @Test(
        "O8: a file whose length is given as 0 and that has a content is no body, but may be part of a form")
    func unknownLength() async throws {
        for path in ["/proc/self/mem", "/proc/self/status"] {
            let error = await failure { $1.uploadFile = URL(fileURLWithPath: path) }
            #expect(error.hasSuffix("\(path) cannot be read for the upload: it has no length"), "\(error)")
        }
        #expect(fixture.server.requests.isEmpty)
        var form = MultipartForm()
        form.add("file", file: URL(fileURLWithPath: "/proc/self/status"))
        #expect(try await send(form).bodyByteCount > 500)
    }
    #endif

    // MARK: Bodies that are sent, once or more often

    private static let body = Data(Pattern.bytes(300_000))

    /// Uploads to `/it`; returns what was sent to each address.
    private func upload(
        _ answer: Answer = .text("in"), _ change: TransferFixture.Change
    ) async throws -> [Request] {
        fixture.server.route("/target", .text("in"))
        let page = try await fixture.load(answer) { request, options in
            request.httpMethod = "PUT"
            options.onChallenge = { .resolved($0.answered(authorization: "Bearer x")) }
            change(&request, &options)
        }
        #expect(page.data.text == "in")
        return fixture.server.requests
    }

    @Test(
        "A file is uploaded as the body, whatever its size, and so is a stream", arguments: [0, 1, 3_000_000])
    func sizes(_ byteCount: Int) async throws {
        let (file, data) = (fixture.file("upload"), Data(Pattern.bytes(byteCount)))
        try data.write(to: file)
        _ = try await upload { $1.uploadFile = file }
        let requests = try await upload { $1.makeBodyStream = { InputStream(data: data) } }
        for request in requests {
            #expect(request.method == "PUT" && request.bodyByteCount == byteCount && request.bodyIsPattern)
        }
    }

    /// Asks for the body a second time: for a redirect, or a challenge.
    private static func askingAgain(_ status: Int) -> Answer {
        guard status == 401 else { return .redirect(to: "/target", status: status) }
        return Answer { exchange in
            guard exchange.request[header: "Authorization"] != nil else {
                return try exchange.sendHead(401, [("WWW-Authenticate", "Bearer")], contentLength: 0)
            }
            try exchange.sendHead(200, contentLength: 2)
            try exchange.send("in")
        }
    }

    @Test(
        "A body stream that would be sent again is an error, except that it is made anew",
        arguments: [307, 308, 401])
    func again(_ status: Int) async throws {
        let made = Observations<Void>()
        let requests = try await upload(Self.askingAgain(status)) { _, options in
            options.makeBodyStream = {
                made.note(())
                return InputStream(data: Self.body)
            }
        }
        #expect(made.all.count == 2 && requests.map(\.bodyByteCount) == [300_000, 300_000])
        #expect(requests.allSatisfy { $0.bodyIsPattern })
        await expectFailure(nil, "stream") {
            try await upload(Self.askingAgain(status)) { request, _ in
                request.httpBodyStream = InputStream(data: Self.body)
            }
        }
        #expect(fixture.server.requests.count == 3)
    }

    @Test("A body stream is not needed again if a redirect changes the request into a GET")
    func notNeededAgain() async throws {
        let requests = try await upload(.redirect(to: "/target", status: 303)) { request, _ in
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: Self.body)
        }
        #expect(requests.map(\.bodyByteCount) == [300_000, 0])
    }

    // MARK: Forms

    private func send(_ form: MultipartForm, _ answer: Answer = .text("thanks")) async throws -> Request {
        _ = try await fixture.load(answer) { request, options in
            request.httpMethod = "POST"
            options.uploadForm = form
        }
        return try #require(fixture.server.requests.last)
    }

    @Test("A form's fields and files are sent as multipart/form-data")
    func parts() async throws {
        try fixture.write("from a file", to: "it.txt")
        var form = MultipartForm()
        form.add("title", "Größe")
        form.add("data", data: Data("in memory".utf8), fileName: "data.bin")
        form.add("file", file: fixture.file("it.txt"), contentType: "text/plain")
        form.add("a \"b\"\r\nX-Evil: 1", data: Data(), fileName: "\"\r\n", contentType: "a/b\r\nX-Evil: 2")
        let request = try await send(form)
        let type = try #require(request[header: "Content-Type"])
        let boundary = try #require(type.split(separator: "boundary=").last).description
        #expect(type == "multipart/form-data; boundary=\(boundary)")
        #expect(request[header: "Content-Length"] == "\(request.bodyByteCount)")
        let expected = """
            --B
            Content-Disposition: form-data; name="title"

            Größe
            --B
            Content-Disposition: form-data; name="data"; filename="data.bin"
            Content-Type: application/octet-stream

            in memory
            --B
            Content-Disposition: form-data; name="file"; filename="it.txt"
            Content-Type: text/plain

            from a file
            --B
            Content-Disposition: form-data; name="a %22b%22%0D%0AX-Evil: 1"; filename="%22%0D%0A"
            Content-Type: a/b X-Evil: 2


            --B--

            """
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == expected.replacingOccurrences(of: "\n", with: "\r\n").replacingOccurrences(
                    of: "--B", with: "--\(boundary)"))
    }

    @Test("A form is sent again after 307, and its temporary file is removed")
    func formAgain() async throws {
        fixture.server.route("/target", .text("thanks"))
        let file = fixture.file("large")
        // A length of this process's own: one that was killed may have left a file behind.
        let length = 3_000_017 + Int(ProcessInfo.processInfo.processIdentifier)
        try Data(Pattern.bytes(length)).write(to: file)
        var form = MultipartForm()
        form.add("file", file: file)
        _ = try await send(form, .redirect(to: "/target", status: 307))
        let lengths = fixture.server.requests.map(\.bodyByteCount)
        #expect(lengths.count == 2 && lengths[0] == lengths[1] && lengths[0] > 3_000_000)
        #expect(!temporaryFileByteCounts.contains(lengths[0]))
    }

    /// The lengths of the files of forms that are being sent, also by other tests and processes.
    private var temporaryFileByteCounts: Set<Int> {
        let folder = FileManager.default.temporaryDirectory
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return Set(
            names.filter { $0.hasPrefix("upload-") }.compactMap { name in
                let file = folder.appendingPathComponent(name)
                return (try? FileManager.default.attributesOfItem(atPath: file.path))?[.size] as? Int
            })
    }

    private struct AtOnce: DelayedDispatcher {
        struct Ended: DelayedWork { func cancel() {} }
        func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
        func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
            if delay == .seconds(100) { work() }
            return Ended()
        }
    }

    @Test("The total time limit ends the writing of a form, and nothing is sent")
    func timeLimit() async throws {
        var form = MultipartForm()
        // The limit has passed before this is looked at.
        form.add("file", file: fixture.file("nothing"))
        let error = await fixture.failure(of: .text("x")) { request, options in
            request.httpMethod = "POST"
            (options.totalTimeout, options.timer, options.uploadForm) = (.seconds(100), AtOnce(), form)
        }
        #expect("\(error)".hasSuffix("not done after 100 s"))
        #expect(fixture.server.requests.isEmpty)
    }

    @Test(
        "The time limit of a form, and its file, end with a download that sends no request",
        arguments: [DownloadDataSource.Existing.skip, .fail])
    func nothingSent(_ existing: DownloadDataSource.Existing) async throws {
        try fixture.write("there already")
        let clock = ManualClock()
        var form = MultipartForm()
        form.add("title", "Holidays")
        let options = TransferOptions(totalTimeout: .seconds(100), timer: clock, uploadForm: form)
        var request = URLRequest(url: fixture.url())
        request.httpMethod = "POST"
        _ = await DownloadDataSource(
            request, to: fixture.file(), options: options, download: .init(existing: existing)
        )
        .request(on: fixture.queue).result
        #expect(clock.scheduled.isEmpty)
    }
}
