import Foundation
import LoopbackServer
import Testing

/// A suite of tests that run the program, each against a server and in a folder of its own.
protocol ProgramSuite {
    var fetch: FetchProgram { get }
}

extension ProgramSuite {
    var server: LoopbackServer { fetch.server }

    func url(_ path: String) -> String { server.url(path) }
    func urls(_ paths: String...) -> [String] { paths.map(url) }
}

/// The built `fetch`, run as users run it, in a folder of its own, and a server to fetch from.
final class FetchProgram: Sendable {
    /// The outcome of a run.
    struct Outcome: Sendable {
        /// An object of `--json`.
        struct Object: Decodable {
            let url: String
            let status: Int?
            let bytes: Int
            let file: String?
            let seconds: Double
            let attempts: Int
            let result: String
            let error: String?
        }

        let status: Int32
        /// Whether a signal ended it; `status` is then its number.
        let wasKilled: Bool
        let output: Data
        let errors: String

        var text: String { String(decoding: output, as: UTF8.self) }
        var errorLines: [String] { errors.split(whereSeparator: \.isNewline).map(String.init) }
        /// The objects of `--json`, by URL.
        var objects: [String: Object] {
            let parsed = text.split(separator: "\n").compactMap {
                try? JSONDecoder().decode(Object.self, from: Data($0.utf8))
            }
            return Dictionary(parsed.map { ($0.url, $0) }) { first, _ in first }
        }
    }

    let server: LoopbackServer
    /// The folder in which it runs. It is removed with this object.
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("FetchTests-\(UUID())")

    /// Starts the server. Where it cannot be started, no test can run.
    init(serving answers: [String: Answer] = [:]) {
        server = try! LoopbackServer()
        try! FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        for (path, answer) in answers { server.route(path, answer) }
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// The program beside the test bundle, from the same build.
    static var url: URL {
        get throws {
            let bundles = [Bundle.main.executablePath ?? ""] + Bundle.allBundles.map(\.bundlePath)
            for start in CommandLine.arguments + bundles {
                var folder = URL(fileURLWithPath: start)
                while folder.path.count > 1 {
                    folder.deleteLastPathComponent()
                    let program = folder.appendingPathComponent("fetch")
                    let isFile = try? program.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile
                    if isFile == true, access(program.path, X_OK) == 0 { return program }
                }
            }
            throw NotFound()
        }
    }

    struct NotFound: Error {}

    /// Runs the program to its end, and checks what is expected: its exit status, words in its errors, and the names
    /// of the files that are then in its folder.
    @discardableResult
    func run(
        _ arguments: [String], input: String? = nil, environment: [String: String] = [:],
        preparation: String = ":", status: Int32? = nil, saying words: String = "",
        leaving names: [String]? = nil,
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        let outcome = try await start(
            arguments, input: input, environment: environment, preparation: preparation
        ).outcome
        let isRight = outcome.status == status ?? outcome.status
        #expect(isRight, "\(outcome.status): \(outcome.errors)", sourceLocation: sourceLocation)
        let saysSo = words.isEmpty || outcome.errors.contains(words)
        #expect(saysSo, "\(words)?: \(outcome.errors)", sourceLocation: sourceLocation)
        if let names { #expect(files() == names, sourceLocation: sourceLocation) }
        return outcome
    }

    @discardableResult
    func run(
        _ arguments: String..., input: String? = nil, status: Int32? = nil, saying words: String = "",
        leaving names: [String]? = nil, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        try await run(
            arguments, input: input, status: status, saying: words, leaving: names,
            sourceLocation: sourceLocation)
    }

    /// Starts the program.
    ///
    /// - Parameters:
    ///   - keepsInputOpen: There may be more input to come, and never is.
    ///   - preparation: What a shell does first.
    func start(
        _ arguments: [String], input: String? = nil, keepsInputOpen: Bool = false,
        output: RunningProgram.Sink = .kept, errors: RunningProgram.Sink = .kept,
        environment: [String: String] = [:], preparation: String = ":"
    ) throws -> RunningProgram {
        // The environment of the person who runs the tests must not matter.
        let dropped: Set = ["NO_COLOR", "TERM", "LC_ALL", "LC_CTYPE", "LANG"]
        let inherited = ProcessInfo.processInfo.environment.filter {
            !dropped.contains($0.key) && !$0.key.hasSuffix("_proxy")
        }
        // The default timeout is for networks: here it may have to wait for a test that gets no processor time.
        let fetches = arguments.contains { $0 == "--input" || $0.hasPrefix("http:") }
        let patience = fetches && !arguments.contains("--timeout") ? ["--timeout", "1000"] : []
        return try RunningProgram(
            Self.url, patience + arguments, in: folder, input: input, keepsInputOpen: keepsInputOpen,
            output: output, errors: errors, environment: inherited.merging(environment) { $1 },
            preparation: preparation)
    }

    func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    /// The names of the files in the folder, or in one inside it, sorted.
    func files(_ path: String = "") -> [String] {
        let folder = path.isEmpty ? folder : file(path)
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    func contents(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: file(name).path).map(Array.init)
    }

    func text(_ name: String) -> String? { contents(name).map { String(decoding: $0, as: UTF8.self) } }

    /// Whether a file is the beginning of the pattern, of that length.
    func isPattern(_ name: String, _ byteCount: Int) -> Bool {
        contents(name).map { $0.count == byteCount && Pattern.matches($0, at: 0) } == true
    }

    func write(_ text: String, to name: String) throws { try Data(text.utf8).write(to: file(name)) }

    func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(at: file(name), withIntermediateDirectories: false)
    }

    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: file(name).path, withDestinationPath: target)
    }

    /// Makes a named pipe.
    func makePipe(_ name: String) throws { try #require(mkfifo(file(name).path, 0o600) == 0) }
}
