import Foundation

extension Compiler {
    /// Returns how many scopes the constraint solver opens for each of `declarations`, each of them one line.
    ///
    /// The number is the same in each run, whatever else the machine does. It depends on the compiler's version.
    package func solverScopes(of declarations: [String], importing imports: [String]) async throws -> [Int] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "SolverScopes-\(UUID())")
        let statistics = folder.appending(path: "statistics")
        try FileManager.default.createDirectory(at: statistics, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // A function after each declaration: by its end the compiler has done with what is before it.
        let header = imports.map { "import \($0)" }
        let lines =
            header
            + declarations.enumerated().flatMap { index, declaration in
                [declaration, "func separator\(index)() -> Int { return 0 }"]
            }
        let file = folder.appending(path: "Use.swift")
        try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        let output = try await run(
            [
                "-typecheck", "-parse-as-library", "-I", modules.path, "-Xfrontend", "-stats-output-dir",
                "-Xfrontend", statistics.path, "-Xfrontend", "-trace-stats-events", file.path,
            ], output: folder.appending(path: "output"))
        guard !output.contains("error:") else { throw Failure(description: output) }
        let traces = try FileManager.default.contentsOfDirectory(
            at: statistics, includingPropertiesForKeys: nil)
        guard let trace = traces.first(where: { $0.pathExtension == "csv" }) else {
            throw Failure(description: "the compiler wrote no trace of its statistics")
        }
        return try Self.scopes(
            in: String(contentsOf: trace, encoding: .utf8), firstLine: header.count + 1,
            count: declarations.count)
    }

    /// Reads the counter's value at the end of each separator, and returns the differences.
    private static func scopes(in trace: String, firstLine: Int, count: Int) throws -> [Int] {
        var ends: [Int: Int] = [:]
        for line in trace.split(separator: "\n") where line.contains(#""Sema.NumConstraintScopes""#) {
            let fields = line.split(separator: ",", maxSplits: 8)
            guard fields.count == 9, fields[2] == #""exit""#, let value = Int(fields[6]),
                let place = fields[8].firstMatch(of: #/\.swift:(\d+):\d+ - line:/#),
                let number = Int(place.output.1)
            else { continue }
            ends[number] = value
        }
        var previous = 0
        return try (0..<count).map { index in
            guard let end = ends[firstLine + 2 * index + 1] else {
                throw Failure(description: "the trace says nothing about declaration \(index)")
            }
            defer { previous = end }
            return end - previous
        }
    }
}
