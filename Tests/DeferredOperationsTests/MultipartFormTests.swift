import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MultipartFormTests {
    let fixture = TransferFixture()

    private func send(_ form: MultipartForm, _ answer: Answer = .text("thanks")) async throws -> Request {
        _ = try await fixture.load(answer) { request, options in
            request.httpMethod = "POST"
            options.uploadForm = form
        }
        return try #require(fixture.server.requests.last)
    }

    @Test("A form's fields and files are sent as multipart/form-data")
    func parts() async throws {
        let file = fixture.file("it.txt")
        try Data("from a file".utf8).write(to: file)
        var form = MultipartForm()
        form.add("title", "Größe")
        form.add("data", data: Data("in memory".utf8), fileName: "data.bin")
        form.add("file", file: file, contentType: "text/plain")
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
    func again() async throws {
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

    @Test("A file that can't be read is an error before anything is sent, and a GET has no form")
    func unreadable() async throws {
        var form = MultipartForm()
        form.add("file", file: fixture.file("nothing"))
        let error = await fixture.failure(of: .text("x")) { request, options in
            request.httpMethod = "POST"
            options.uploadForm = form
        }
        #expect("\(error)".contains("nothing cannot be read for the upload"))
        let get = await fixture.failure(of: .text("x")) { $1.uploadForm = form }
        #expect("\(get)".hasSuffix("a GET has no body") && fixture.server.requests.isEmpty)
    }

    @Test("What is not a regular file is refused, in a form and as a body", arguments: [false, true])
    func noRegularFile(_ isForm: Bool) async throws {
        let pipe = fixture.file("pipe")
        try #require(mkfifo(pipe.path, 0o600) == 0)
        for (path, reason) in [
            ("/dev/null", "it is a pipe, a device or a socket"),
            (pipe.path, "it is a pipe, a device or a socket"), (fixture.folder.path, "it is a directory"),
        ] {
            let error = await fixture.failure(of: .text("x")) { request, options in
                request.httpMethod = "POST"
                var form = MultipartForm()
                form.add("file", file: URL(fileURLWithPath: path))
                if isForm {
                    options.uploadForm = form
                } else {
                    options.uploadFile = URL(fileURLWithPath: path)
                }
            }
            #expect("\(error)".hasSuffix("\(path) cannot be read for the upload: \(reason)"))
        }
        #expect(fixture.server.requests.isEmpty)
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
        try Data("there already".utf8).write(to: fixture.file("it"))
        let clock = ManualClock()
        var form = MultipartForm()
        form.add("title", "Holidays")
        var options = TransferOptions.patient
        options.totalTimeout = .seconds(100)
        options.timer = clock
        options.uploadForm = form
        var request = URLRequest(url: fixture.url("/it"))
        request.httpMethod = "POST"
        _ = await DownloadDataSource(
            request, to: fixture.file("it"), options: .init(existing: existing), transfer: options
        )
        .request(on: fixture.queue).result
        #expect(clock.scheduled.isEmpty)
    }
}
