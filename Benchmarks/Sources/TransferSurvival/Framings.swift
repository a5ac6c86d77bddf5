import Deferred
import DeferredOperations
import FileServing
import Foundation

/// How each kind of body is framed on the wire, and whether nginx takes it, where that is installed (O11).
enum Framings {
    private static let body = Data(Pattern.bytes(100_000))

    private struct Kind {
        let name: String
        /// Whether the length is known, and therefore sent.
        var hasLength = true
        var byteCount = body.count
        let change: (inout URLRequest, inout TransferOptions) -> Void
    }

    private static func kinds(_ file: URL) -> [Kind] {
        var form = MultipartForm()
        form.add("file", file: file)
        let stream: @Sendable () -> InputStream = { InputStream(data: body) }
        return [
            Kind(name: "data") { request, _ in request.httpBody = body },
            Kind(name: "file") { $1.uploadFile = file },
            Kind(name: "form", byteCount: -1) { [form] in $1.uploadForm = form },
            Kind(name: "stream with a byte count") {
                ($1.makeBodyStream, $1.bodyByteCount) = (stream, Int64(body.count))
            },
            Kind(name: "stream with a Content-Length") { request, options in
                options.makeBodyStream = stream
                request.setValue("\(body.count)", forHTTPHeaderField: "Content-Length")
            },
            Kind(name: "stream of the request's own, with a byte count") { request, options in
                (request.httpBodyStream, options.bodyByteCount) = (stream(), Int64(body.count))
            },
            Kind(name: "stream of unknown length", hasLength: false) { $1.makeBodyStream = stream },
            Kind(name: "empty stream", byteCount: 0) {
                ($1.makeBodyStream, $1.bodyByteCount) = ({ InputStream(data: Data()) }, 0)
            },
        ]
    }

    static func checkAll() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("framings-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("body")
        try body.write(to: file)
        let (server, nginx) = (try LoopbackServer(), try Nginx(in: folder))
        defer { nginx?.stop() }
        server.route("/it", .status(204))
        if nginx == nil { print("nginx is not installed: the server of the tests is the only judge") }
        var faults: [String] = []
        for (index, kind) in kinds(file).enumerated() {
            _ = try await put(kind, to: URL(string: server.url("/it"))!)
            let request = server.requests.last!
            let framing = request.headers.filter {
                ["content-length", "transfer-encoding"].contains($0.name.lowercased())
            }
            let words = framing.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
            let expected =
                kind.hasLength
                ? ["content-length: \(request.bodyByteCount)"] : ["transfer-encoding: chunked"]
            let isWhole =
                kind.byteCount < 0 || request.bodyByteCount == kind.byteCount && request.bodyIsPattern
            if framing.map({ "\($0.name.lowercased()): \($0.value)" }) != expected || !isWhole {
                faults.append(kind.name)
            }
            guard let nginx else {
                print("\(kind.name): \(words)")
                continue
            }
            let status = try await put(kind, to: nginx.url("\(index)"))
            let stored = try? Data(contentsOf: nginx.file("\(index)"))
            let isStored =
                kind.byteCount < 0
                ? stored?.count == request.bodyByteCount : stored == body.prefix(kind.byteCount)
            print("\(kind.name): \(words); nginx: \(status), \(isStored ? "the same bytes" : "OTHER BYTES")")
            if ![201, 204].contains(status) || !isStored { faults.append("\(kind.name), with nginx") }
        }
        if !faults.isEmpty { throw Failure(description: "wrong framing: \(faults.joined(separator: "; "))") }
    }

    private static func put(_ kind: Kind, to url: URL) async throws -> Int {
        var (request, options) = (URLRequest(url: url), TransferOptions(totalTimeout: .seconds(60)))
        request.httpMethod = "PUT"
        options.validateResponse = { _ in }
        kind.change(&request, &options)
        let source = URLDataSource(request, options: options, session: TestedTransport.session)
        return try await source.request(on: OperationQueue()).value.response.statusCode
    }

    /// An nginx that stores what is sent to it.
    private struct Nginx {
        private let process = Process()
        private let folder: URL
        private let port = 20_000 + Int(getpid()) % 20_000

        /// Returns nil if it is not installed.
        init?(in folder: URL) throws {
            let places = [
                "/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx", "/opt/homebrew/bin/nginx",
            ]
            guard let program = places.first(where: FileManager.default.isExecutableFile) else { return nil }
            self.folder = folder
            let names = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            let temporary = names.map { "\($0)_temp_path \(folder.path)/\($0);" }.joined(separator: " ")
            let configuration = folder.appendingPathComponent("nginx.conf")
            try """
            daemon off; worker_processes 1; pid \(folder.path)/nginx.pid;
            events { worker_connections 64; }
            http {
              access_log off; client_max_body_size 100m; \(temporary)
              server { listen 127.0.0.1:\(port); root \(folder.path); dav_methods PUT; create_full_put_path on; }
            }
            """.write(to: configuration, atomically: true, encoding: .utf8)
            process.executableURL = URL(fileURLWithPath: program)
            // Its worker runs as another user if this one is root, and could not write then.
            let user = getuid() == 0 ? ["-g", "user root;"] : []
            process.arguments = ["-p", folder.path, "-c", configuration.path, "-e", "stderr"] + user
            process.standardError = FileHandle.nullDevice
            try process.run()
            // It listens by the time that it writes this.
            let isReady = (0..<1000).contains { _ in
                usleep(10_000)
                return FileManager.default.fileExists(atPath: "\(folder.path)/nginx.pid")
            }
            guard isReady, process.isRunning else { throw Failure(description: "nginx does not start") }
        }

        func url(_ name: String) -> URL { URL(string: "http://127.0.0.1:\(port)/put/\(name)")! }
        func file(_ name: String) -> URL { folder.appendingPathComponent("put/\(name)") }
        func stop() { process.terminate() }
    }
}
