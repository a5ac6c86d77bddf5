import Foundation

/// The compiler of the toolchain that the tests were built with. It type-checks source code that it should
/// refuse or accept, and builds modules that stand in for other packages.
package struct Compiler: Sendable {
    /// An error or a warning about one line.
    package struct Complaint: Hashable, Sendable, CustomStringConvertible {
        /// The file's name as the compiler has it: a path, or that of a `#sourceLocation`.
        package let file: String
        package let line: Int
        package let isError: Bool
        package let message: String

        package var description: String { "\(file):\(line): \(message)" }
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The folder with the modules of the build that the tests are part of.
    package let modules: URL
    /// Where the compilers of the tests keep C modules. To build those anew takes twenty times as long as to check a short
    /// file. One that is reached by two paths has each module twice, which the compiler refuses: without symbolic links.
    private let moduleCache: URL
    private let program: URL
    private let firstArguments: [String]

    package init() throws {
        modules = try Self.builtModules()
        moduleCache = modules.resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "TestsModuleCache")
        #if os(macOS)
        program = URL(filePath: "/usr/bin/xcrun")
        firstArguments = ["swiftc"]
        #else
        program = try Self.besideRuntime()
        firstArguments = []
        #endif
    }

    /// Checks types and isolation; builds nothing.
    ///
    /// - Parameters:
    ///   - source: The text of a file that imports modules of this package.
    ///   - flags: Further arguments of the compiler, such as `-default-isolation`.
    package func complaints(about source: String, flags: [String] = []) async throws -> [Complaint] {
        try await complaints(about: ["Use.swift": source], flags: flags)
    }

    /// Does the same for the files of one module, by name.
    package func complaints(
        about sources: [String: String], flags: [String] = []
    ) async throws -> [Complaint] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "CompilerTests-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in sources {
            try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        let output = try await run(
            ["-diagnostic-style", "llvm", "-I", modules.path, "-parse-as-library", "-wmo"]
                + ["-emit-sil", "-o", "/dev/null"] + flags
                + sources.keys.sorted().map { folder.appending(path: $0).path },
            output: folder.appending(path: "output"))
        let found = output.matches(of: #/(?m)^(.*):(\d+):\d+: (error|warning): (.*)$/#)
        guard output.isEmpty || !found.isEmpty else { throw Failure(description: output) }
        return found.map { match in
            Complaint(
                file: String(match.output.1), line: Int(match.output.2) ?? 0,
                isError: match.output.3 == "error", message: String(match.output.4))
        }
    }

    /// Returns the lines of `source` that end in `  // text` and about which no complaint contains that text, and the
    /// errors at other lines.
    package func surprises(in source: String) async throws -> [String] {
        let complaints = try await complaints(about: source)
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let expected = lines.enumerated().compactMap { index, line in
            let parts = line.split(separator: "  // ", maxSplits: 1)
            return parts.count == 2 ? (line: index + 1, text: String(parts[1])) : nil
        }
        let missing = expected.filter { line, text in
            // Not one about the library's own source.
            !complaints.contains {
                $0.file.hasSuffix("/Use.swift") && $0.line == line && $0.message.contains(text)
            }
        }
        let others = complaints.filter { error in
            error.isError && !expected.contains { $0.line == error.line }
        }
        return missing.map { "line \($0.line), not refused: \($0.text)" } + others.map(\.description)
    }

    /// Writes the module `name`, made of `sources`, to `folder`: its interface only, nothing to link.
    package func emitModule(
        _ name: String, of sources: [URL], to folder: URL, flags: [String] = []
    ) async throws {
        let module = folder.appending(path: "\(name).swiftmodule")
        let output = try await run(
            // `-wmo`: one frontend reads all files, instead of one for each file.
            ["-wmo", "-emit-module", "-module-name", name, "-emit-module-path", module.path]
                + ["-parse-as-library"] + flags + sources.map(\.path),
            output: folder.appending(path: "\(name).output"))
        guard Self.exists(module) else { throw Failure(description: output) }
    }

    /// Runs the compiler with `arguments` in Swift 6 mode and returns everything that it printed, on either
    /// stream.
    package func run(_ arguments: [String], output: URL) async throws -> String {
        try Data().write(to: output)
        let sink = try FileHandle(forWritingTo: output)
        let process = Process()
        process.executableURL = program
        process.arguments =
            firstArguments + ["-swift-version", "6", "-module-cache-path", moduleCache.path] + arguments
        // A sanitizer that was loaded into this process must not be loaded into that one.
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

    /// Returns the folder with the modules of the build that this process is part of.
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
        throw Failure(description: "no Deferred.swiftmodule above any of \(starts)")
    }

    /// Returns the compiler that belongs to the runtime library in this process, which can read the modules of
    /// the build; otherwise the one in `PATH`.
    private static func besideRuntime() throws -> URL {
        var folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map { URL(fileURLWithPath: String($0)) }
        // `String(contentsOfFile:)` reads only the first page of this file.
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
        else { throw Failure(description: "no swiftc in any of \(folders.map(\.path))") }
        return compiler
    }

    private static func exists(_ file: URL) -> Bool { FileManager.default.fileExists(atPath: file.path) }
}
