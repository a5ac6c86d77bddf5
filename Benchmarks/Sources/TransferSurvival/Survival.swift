import Deferred
import DeferredOperations
import FileServing
import Foundation

/// What is transferred.
enum Kind: String, CaseIterable {
    case file, form, data, stream, chunked, download, load, pieces

    var isUpload: Bool { [.file, .form, .data, .stream, .chunked].contains(self) }
}

/// Numbers that a seed determines.
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
    mutating func below(_ count: Int) -> Int { Int.random(in: 0..<max(1, count), using: &self) }
}

/// Many transfers of one kind, eight at once, from a server in the same process.
struct Survival {
    private let kind: Kind
    private let count: Int
    private let seed: UInt64
    private let server: LoopbackServer
    private let queue = OperationQueue()
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("survival-\(UUID())")

    init(_ kind: Kind, _ count: Int, _ seed: UInt64) throws {
        (self.kind, self.count, self.seed) = (kind, count, seed)
        server = try LoopbackServer()
        server.route("/target", .text("in"))
        queue.maxConcurrentOperationCount = 8
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func run() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        for size in Self.sizes { try Data(count: size).write(to: body(size)) }
        let list = DeferredList(0..<count, limit: 8) { number in transfer(number) }
        var endings: [String: Int] = [:]
        for ending in try await list.values().value { endings[ending, default: 0] += 1 }
        let parts = endings.sorted { $0.value > $1.value }.map { "\($0.value) \($0.key)" }
        print(parts.joined(separator: ", "))
    }

    private static let sizes = [0, 1, 1000, 70_000, 300_000, 1_000_000, 4_000_000]

    private func body(_ size: Int) -> URL { folder.appendingPathComponent("body-\(size)") }

    /// Makes one transfer; returns how it has ended.
    private func transfer(_ number: Int) -> Deferred<String> {
        var random = Seeded(state: seed &+ UInt64(number) &* 7919)
        let size = Self.sizes.randomElement(using: &random)!
        let path = "/\(number)"
        prepare(path, size, &random)
        var request = URLRequest(url: URL(string: server.url(path))!)
        var options = TransferOptions(
            silenceTimeout: .milliseconds(random.chance(30) ? 5 + random.below(60) : 300))
        if random.chance(15) { options.totalTimeout = .milliseconds(1 + random.below(60)) }
        if random.chance(50) { options.onChallenge = { .resolved($0.answered(authorization: "Bearer x")) } }
        if random.chance(20) { options.onRedirect = { _ in .resolved(.follow) } }
        if random.chance(20) { options.validateResponse = { _ in } }
        if kind.isUpload {
            request.httpMethod = ["PUT", "POST"].randomElement(using: &random)
            addBody(size, &request, &options)
        }
        let session = TestedTransport.session
        let transfer: Deferred<Void> =
            switch kind {
            case .download:
                DownloadDataSource(
                    request, to: folder.appendingPathComponent("\(number)"), options: options,
                    download: .init(resumes: random.chance(50)), session: session
                ).request(on: queue).map { _ in }
            case .pieces:
                StreamDataSource(
                    request, bufferByteCount: 1 + random.below(1 << 17),
                    pauseByteCount: Int64(1 + random.below(1 << 18)),
                    options: options, session: session, onPiece: { _ in }
                ).request(on: queue).map { _ in }
            default:
                URLDataSource(request, options: options, session: session).request(on: queue).map { _ in }
            }
        if random.chance(35) {
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(random.below(40_000))) {
                transfer.cancel()
            }
        }
        return transfer.map { "ok" }.recover { error in
            // None of them is invalid.
            if case DataSourceError.invalidRequest? = error as? DataSourceError { fatalError("\(error)") }
            guard error is DataSourceError else { return "\(type(of: error))" }
            return Mirror(reflecting: error).children.first?.label ?? "\(error)"
        }
    }

    private func addBody(_ size: Int, _ request: inout URLRequest, _ options: inout TransferOptions) {
        let file = body(size)
        switch kind {
        case .file: options.uploadFile = file
        case .form:
            var form = MultipartForm()
            form.add("file", file: file)
            options.uploadForm = form
        case .data: request.httpBody = Data(count: size)
        case .stream:
            options.makeBodyStream = { InputStream(url: file)! }
            options.bodyByteCount = Int64(size)
        default: options.makeBodyStream = { InputStream(url: file)! }
        }
    }

    /// Decides what the server does with a request: when it answers, with what, and where it stops doing so.
    private func prepare(_ path: String, _ size: Int, _ random: inout Seeded) {
        let (status, headers): (Int, [(String, String)]) =
            switch random.below(10) {
            case 0: (302, [("Location", "/target")])
            case 1: (307, [("Location", "/target")])
            case 2: (401, [("WWW-Authenticate", "Bearer")])
            case 3: (413, [])
            case 4: (500, [])
            default: (200, [("ETag", "\"a\""), ("Accept-Ranges", "bytes")])
            }
        let length = kind.isUpload ? random.below(5000) : size
        var answer = Array("HTTP/1.1 \(status) X\r\nContent-Length: \(length)\r\n".utf8)
        for (name, value) in headers { answer += Array("\(name): \(value)\r\n".utf8) }
        if random.chance(20) { answer += Array("Connection: close\r\n".utf8) }
        answer += [13, 10]
        let head = answer.count
        answer += [UInt8](repeating: 120, count: length)
        // One in four answers is whole.
        let isCut = random.chance(75)
        let way = isCut ? ["close", "reset", "stall"].randomElement(using: &random)! : "whole"
        // At each point of the head as often as in the body.
        var end =
            isCut
            ? (random.chance(50) ? random.below(head + 1) : head + random.below(length + 1)) : answer.count
        // A connection that is closed within the headers stops the process: `traps` tries that.
        if way == "close", 1..<head ~= end { end = random.chance(50) ? 0 : head }
        let reply = Answer { [answer, end] exchange in
            try exchange.send(Array(answer[..<end]))
            switch way {
            case "close": try exchange.hangUp()
            case "reset": try exchange.reset()
            case "stall": try exchange.stall()
            default: break
            }
        }
        if kind.isUpload, random.chance(60) {
            server.route(path, afterBytes: random.below(size + 1), reply)
        } else {
            server.route(path, reply)
        }
    }
}
