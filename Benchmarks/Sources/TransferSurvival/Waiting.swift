import Deferred
import DeferredOperations
import FileServing
import Foundation

/// What a transfer costs while it only waits.
enum Waiting {
    /// Where it waits.
    private static let places = [
        "head": "for the head, on a new connection", "body": "in the middle of a body, on a new connection",
        "upload": "for the head, after an upload, on a new connection",
        "kept": "for the head, on a kept connection",
        "plain": "for the head, with URLSession alone", "stub": "on a stub",
        "curl": "for the head, with curl",
    ]

    private struct Cost {
        let processor: Double
        let switches: Int

        init(ofChildren: Bool) {
            var usage = rusage()
            // -1 is RUSAGE_CHILDREN, whose type differs between systems.
            getrusage(.init(ofChildren ? -1 : 0), &usage)
            let seconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            processor = seconds + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
            switches = usage.ru_nvcsw + usage.ru_nivcsw
        }
    }

    static func measureAll(_ seconds: Double) async throws {
        let server = try LoopbackServer()
        server.route("/silent", .stalled)
        server.route("/half", .stalled(after: 1000, of: 2000))
        server.route("/whole", .text("x"))
        print(
            "share of a processor, and context switches a second, of a transfer that waits \(Int(seconds)) s:"
        )
        var shares: [String: Double] = [:]
        for name in ["head", "body", "upload", "kept", "plain", "stub", "curl"] {
            let (output, ending) = try Child([
                "waiting", name, server.url(), "--seconds", "\(Int(seconds))",
            ]).finish()
            let words = output.split(separator: " ")
            guard ending == "survived", words.count == 2, let share = Double(words[0]) else {
                print("\(name): not measured (\(ending))")
                continue
            }
            shares[name] = share
            print("\(Int(share * 100))% \(words[1]) \(places[name]!)")
        }
        if !TestedTransport.hasFaults {
            guard let share = shares["head"], share < 0.05 else {
                throw Failure(description: "waiting is not free")
            }
            return
        }
        // Half a processor and more today. A busy machine leaves less of one, but not so little.
        if let plain = shares["plain"], plain < 0.05 {
            throw Failure(
                description: "URLSession waits without a processor now. Say so in FoundationOnLinux.md (O16)")
        }
    }

    static func run(_ name: String, at base: URL, _ seconds: Double) async throws {
        func url(_ path: String) -> URL { base.appendingPathComponent(path) }
        let queue = OperationQueue()
        if name == "curl" { return try measureCurl(url("silent"), seconds) }
        var request = URLRequest(url: url(name == "body" ? "half" : "silent"))
        if name == "upload" { (request.httpMethod, request.httpBody) = ("PUT", Data(count: 1000)) }
        let stub = TransferSession(transport: StubTransport(script: [.silent]))
        let session = name == "stub" ? stub : TestedTransport.session
        if name == "kept" {
            _ = try await URLDataSource(url("whole"), session: session).request(on: queue).value
        }
        var task: URLSessionTask?
        var transfer: Deferred<URLDataSource.Response>?
        if name == "plain" {
            task = URLSession(configuration: .ephemeral).dataTask(with: request) { _, _, _ in }
            task?.resume()
        } else {
            transfer = URLDataSource(request, session: session).request(on: queue)
        }
        try await Task.sleep(for: .seconds(0.5))
        let before = Cost(ofChildren: false)
        try await Task.sleep(for: .seconds(seconds))
        let after = Cost(ofChildren: false)
        report(after.processor - before.processor, after.switches - before.switches, seconds)
        withExtendedLifetime((task, transfer)) { exit(EXIT_SUCCESS) }
    }

    private static func measureCurl(_ url: URL, _ seconds: Double) throws {
        let curl = Process()
        curl.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        curl.arguments = ["-s", "--max-time", "\(seconds)", url.absoluteString]
        try curl.run()
        curl.waitUntilExit()
        let cost = Cost(ofChildren: true)
        report(cost.processor, cost.switches, seconds)
    }

    private static func report(_ processor: Double, _ switches: Int, _ seconds: Double) {
        print(processor / seconds, Int(Double(switches) / seconds))
    }
}
