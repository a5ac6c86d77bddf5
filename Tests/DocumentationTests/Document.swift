import Foundation

/// A page, with the Swift code in it.
///
/// The code is compiled from here. `Contexts` has what it presupposes: `Common.swift` for all pages, and a file for
/// each page that needs more.
struct Document {
    /// A piece of code, and the line of the page at which it begins.
    struct Block {
        let line: Int
        let code: String

        /// Whether this is one type or one test, which stands by itself. Other blocks are statements of a function.
        var isDeclaration: Bool {
            let lines = code.split(separator: "\n").filter { !$0.hasPrefix(" ") && !$0.hasPrefix("//") }
            let type = #/@Test .*|((private|final|nonisolated|@MainActor) )*(class|struct|enum|protocol) .*/#
            return lines.count == 2 && lines[0].wholeMatch(of: type) != nil
        }
    }

    static let modules = [
        "Deferred", "DeferredOperations", "DeferredTesting", "DeferredTracing", "Dispatch", "Foundation",
        "FoundationNetworking", "Multicast", "Synchronization", "Testing",
    ]

    /// Where it is in the package.
    let path: String
    /// The code marked `swift`.
    private(set) var blocks: [Block] = []
    /// The code that is marked as no language.
    private(set) var quotations: [Block] = []
    /// The code in the second cell of each row of a table that ends in `Here`, names alone left out.
    private(set) var rows: [Block] = []

    init(_ path: String) throws {
        self.path = path
        var block: (line: Int, language: Substring, lines: [Substring])?
        var isTranslation = false
        let lines = try Package.text(of: path).split(separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in zip(1..., lines) {
            switch (line, block) {
            case ("```", let (line, language, lines)?):
                let code = Block(line: line, code: lines.joined(separator: "\n"))
                if language == "swift" { blocks.append(code) }
                if language.isEmpty { quotations.append(code) }
                block = nil
            case (_, nil) where line.hasPrefix("```"): block = (number + 1, line.dropFirst(3), [])
            case (_, .some): block?.lines.append(line)
            case (_, nil):
                isTranslation = line.hasPrefix("|") && (isTranslation || line.hasSuffix("| Here |"))
                if isTranslation, let code = Self.code(inRow: line) {
                    rows.append(Block(line: number, code: code))
                }
            }
        }
    }

    /// The articles with code in them.
    static func all() throws -> [Document] {
        try Package.files(under: "Sources", named: ".md").map { try Document(Package.path(of: $0)) }
            .filter { !$0.blocks.isEmpty || !$0.rows.isEmpty }
    }

    private static func code(inRow row: Substring) -> String? {
        let cell = row.split(separator: "|").dropFirst().first ?? ""
        let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
        let codes = zip(0..., parts).filter { $0.0 % 2 == 1 }.map(\.1)
            .filter { $0.wholeMatch(of: #/\.?\w+/#) == nil }
        return codes.isEmpty ? nil : codes.joined(separator: "; ")
    }

    /// The page's name without folder and ending.
    var name: String { URL(filePath: path).deletingPathExtension().lastPathComponent }

    /// A file with all of the page's code, whose errors are at the lines of the page: declarations in extensions of a
    /// class, and each other block, and each row of a table, in a function of its own.
    func source() throws -> String {
        let context = "Tests/DocumentationTests/Contexts/\(name).swift"
        var source = Self.modules.map { "#if canImport(\($0))\nimport \($0)\n#endif\n" }.joined()
        if Package.exists(context) {
            source += located(Block(line: 1, code: try Package.text(of: context)), in: context)
        }
        source += "final class \(name)Examples: Sendable {}\nextension \(name)Examples {\n"
        for block in blocks + rows {
            let code = located(block, in: path)
            let effects = block.code.contains("await ") ? "async throws" : "throws"
            source += block.isDeclaration ? code : "func line\(block.line)() \(effects) {\n\(code)}\n"
        }
        return source + "}\n"
    }

    private func located(_ block: Block, in path: String) -> String {
        "#sourceLocation(file: \"\(path)\", line: \(block.line))\n\(block.code)\n#sourceLocation()\n"
    }
}

/// The files of this package.
enum Package {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }

    static func path(of file: URL) -> String {
        String(file.standardizedFileURL.path.dropFirst(root.standardizedFileURL.path.count + 1))
    }

    /// The files in `folder` and its subfolders whose names end with `suffix`.
    static func files(under folder: String, named suffix: String) -> [URL] {
        let found = FileManager.default.enumerator(
            at: root.appending(path: folder), includingPropertiesForKeys: nil)
        return (found?.compactMap { $0 as? URL } ?? []).filter { $0.lastPathComponent.hasSuffix(suffix) }
    }
}
