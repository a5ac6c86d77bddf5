import FileServing
import Foundation

/// A server with the files of all jobs, in a process of its own, or an external one.
struct FileServer {
    let urlBase: String
    let name: String
    private let process: MeasuredProcess?

    init(_ options: TransferBenchmarkOptions, folder: URL) throws {
        if let base = options.urlBase {
            urlBase = base.hasSuffix("/") ? base : base + "/"
            name = base
            process = nil
        } else if let nginx = TransferCommand.installed("nginx") {
            let port = 20_000 + Int(getpid()) % 20_000
            urlBase = "http://127.0.0.1:\(port)/"
            name = "nginx"
            let configuration = try Self.prepareNginx(in: folder, port: port)
            process = try MeasuredProcess(nginx, ["-p", folder.path, "-c", configuration, "-e", "stderr"])
        } else {
            var ends: [CInt] = [-1, -1]
            guard pipe(&ends) == 0 else { throw MeasuredProcess.Failure(description: "no descriptors left") }
            process = try MeasuredProcess(CommandLine.arguments[0], ["serve"], output: ends[1])
            close(ends[1])
            let line = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true).availableData
            urlBase = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
            name = "LoopbackServer"
        }
    }

    func end() { process?.end() }

    /// Writes the files and the configuration, and returns the configuration's path.
    private static func prepareNginx(in folder: URL, port: Int) throws -> String {
        for job in FileSet.allCases {
            let files = folder.appendingPathComponent(job.rawValue)
            try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
            let first = files.appendingPathComponent("0")
            try Data(Pattern.bytes(job.byteCount)).write(to: first)
            for index in 1..<job.fileCount {
                try FileManager.default.linkItem(at: first, to: files.appendingPathComponent("\(index)"))
            }
        }
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.path)/\($0);" }.joined(separator: " ")
        let configuration = folder.appendingPathComponent("nginx.conf")
        try """
        daemon off; worker_processes 1; pid \(folder.path)/nginx.pid;
        events { worker_connections 1024; }
        http {
          access_log off; sendfile on; tcp_nodelay on; keepalive_requests 1000000; \(temporary)
          server { listen 127.0.0.1:\(port); root \(folder.path); }
        }
        """.write(to: configuration, atomically: true, encoding: .utf8)
        return configuration.path
    }
}

/// Serves the files of all jobs with the server of the examples.
enum LoopbackFiles {
    /// Prints the server's address on standard output and serves until the process is ended.
    static func serve() async throws {
        let server = try LoopbackServer { request in
            let job = FileSet.allCases.first { request.path.hasPrefix("/\($0.rawValue)/") }
            return job.map { .pattern($0.byteCount) } ?? .status(404)
        }
        FileHandle.standardOutput.write(Data(server.url("/\n").utf8))
        while true { try await Task.sleep(for: .seconds(3600)) }
    }
}
