import Foundation

/// The compiler of the toolchain that these tests were built with, on source that is to be refused.
struct Compiler {
    /// What it says about a line.
    struct Complaint: Hashable, CustomStringConvertible {
        let line: Int
        let isError: Bool
        let message: String

        var description: String { "line \(line): \(message)" }
    }

    struct NotFound: Error, CustomStringConvertible {
        let description: String
    }

    private let program: URL
    private let firstArguments: [String]
    private let modules: URL

    init() throws {
        modules = try Self.builtModules()
        #if os(macOS)
        program = URL(filePath: "/usr/bin/xcrun")
        firstArguments = ["swiftc"]
        #else
        program = try Self.besideRuntime()
        firstArguments = []
        #endif
    }

    /// Checks types, isolation and what is sent where; nothing is built.
    func complaints(about source: String) async throws -> [Complaint] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "CompilerTests-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "Use.swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        let output = try await run(
            ["-swift-version", "6", "-diagnostic-style", "llvm", "-I", modules.path]
                + ["-module-cache-path", folder.appending(path: "ModuleCache").path]
                + ["-parse-as-library", "-emit-sil", "-o", "/dev/null", file.path],
            output: folder.appending(path: "output"))
        let found = output.matches(of: #/(?m)^(.*):(\d+):\d+: (error|warning): (.*)$/#)
        guard output.isEmpty || !found.isEmpty else { throw NotFound(description: output) }
        return found.map { match in
            let isHere = match.output.1.hasSuffix(file.lastPathComponent)
            return Complaint(
                // A complaint about the library's own source is about no line of the user's.
                line: isHere ? Int(match.output.2) ?? 0 : 0, isError: match.output.3 == "error",
                message: String(match.output.4))
        }
    }

    /// Everything it said, on either stream.
    private func run(_ arguments: [String], output: URL) async throws -> String {
        try Data().write(to: output)
        let sink = try FileHandle(forWritingTo: output)
        let process = Process()
        process.executableURL = program
        process.arguments = firstArguments + arguments
        // A sanitizer that was put into this process is not for that one.
        process.environment = ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("DYLD_") && $0.key != "LD_PRELOAD" }
        process.standardOutput = sink
        process.standardError = sink
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        return try String(contentsOf: output, encoding: .utf8)
    }

    /// The folder in which the build that these tests are part of left its modules.
    private static func builtModules() throws -> URL {
        let starts =
            CommandLine.arguments + [Bundle.main.executablePath ?? ""] + Bundle.allBundles.map(\.bundlePath)
        for start in starts {
            var folder = URL(fileURLWithPath: start)
            while folder.path.count > 1 {
                folder.deleteLastPathComponent()
                for candidate in [folder.appending(path: "Modules"), folder]
                where exists(candidate.appending(path: "Deferred.swiftmodule")) {
                    return candidate
                }
            }
        }
        throw NotFound(description: "no Deferred.swiftmodule above any of \(starts)")
    }

    /// The compiler that belongs to the runtime library in this process, so that it can read the modules;
    /// else that in `PATH`.
    private static func besideRuntime() throws -> URL {
        var folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map { URL(fileURLWithPath: String($0)) }
        // Not `String(contentsOfFile:)`, which gives only the first page.
        let maps = try FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd() ?? Data()
        if let runtime = String(decoding: maps, as: UTF8.self).firstMatch(of: #/\s(/.*/libswiftCore\.so)\n/#)
        {
            var folder = URL(fileURLWithPath: String(runtime.output.1)).resolvingSymlinksInPath()
            var above: [URL] = []
            while folder.path.count > 1 {
                folder.deleteLastPathComponent()
                above.append(folder.appending(path: "bin"))
            }
            folders = above + folders
        }
        let compilers = folders.map { $0.appending(path: "swiftc") }
        guard let compiler = compilers.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) })
        else { throw NotFound(description: "no swiftc in any of \(folders.map(\.path))") }
        return compiler
    }

    private static func exists(_ file: URL) -> Bool { FileManager.default.fileExists(atPath: file.path) }
}
