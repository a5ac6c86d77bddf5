import Foundation
import Testing

/// The built `fetch`, run as users run it, in a folder of its own.
final class FetchProgram: Sendable {
    /// The outcome of a run.
    struct Outcome: Sendable {
        let status: Int32
        /// Whether a signal ended it; `status` is then its number.
        let wasKilled: Bool
        let output: Data
        let errors: String

        var text: String { String(decoding: output, as: UTF8.self) }
        var errorLines: [String] { errors.split(whereSeparator: \.isNewline).map(String.init) }
        /// The objects of `--json`, by URL.
        var objects: [String: [String: Any]] {
            let parsed = text.split(separator: "\n").compactMap {
                try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            }
            return Dictionary(parsed.map { ($0["url"] as? String ?? "", $0) }) { first, _ in first }
        }
    }

    /// The folder in which it runs. It is removed with this object.
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("FetchTests-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    }

    deinit {
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

    /// Whether this process, and therefore the program, was built with a sanitizer.
    static let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

    /// Runs the program to its end, and checks its exit status, if one is expected, and that its errors
    /// contain `words`.
    @discardableResult
    func run(
        _ arguments: [String], input: String? = nil, environment: [String: String] = [:],
        preparation: String = ":", status: Int32? = nil, saying words: String = "",
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        let outcome = try await start(
            arguments, input: input, environment: environment, preparation: preparation
        ).outcome
        let isRight = outcome.status == status ?? outcome.status
        #expect(isRight, "\(outcome.status): \(outcome.errors)", sourceLocation: sourceLocation)
        let saysSo = words.isEmpty || outcome.errors.contains(words)
        #expect(saysSo, "\(words)?: \(outcome.errors)", sourceLocation: sourceLocation)
        return outcome
    }

    @discardableResult
    func run(
        _ arguments: String..., input: String? = nil, status: Int32? = nil, saying words: String = "",
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        try await run(
            arguments, input: input, status: status, saying: words, sourceLocation: sourceLocation)
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
        // The default timeout is for networks: here it may have to wait for a test that gets no processor
        // time.
        let fetches = arguments.contains { $0 == "--input" || $0.hasPrefix("http:") }
        let patience = fetches && !arguments.contains("--timeout") ? ["--timeout", "1000"] : []
        return try RunningProgram(
            Self.url, patience + arguments, in: folder, input: input, keepsInputOpen: keepsInputOpen,
            output: output, errors: errors, environment: inherited.merging(environment) { $1 },
            preparation: preparation)
    }

    /// The names of the files in the folder, or in one inside it, sorted.
    func files(_ path: String = "") -> [String] {
        let folder = path.isEmpty ? folder : folder.appendingPathComponent(path)
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    func contents(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: folder.appendingPathComponent(name).path).map(Array.init)
    }

    func text(_ name: String) -> String? {
        contents(name).map { String(decoding: $0, as: UTF8.self) }
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: folder.appendingPathComponent(name))
    }
}
