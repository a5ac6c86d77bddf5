import Foundation
import TestSupport

struct Refused: Error, CustomStringConvertible {
    var description: String { "refused" }
}

struct NotFound: Error {}

extension String {
    func shouted() async throws -> String { uppercased() }
}

extension SharedLog {
    /// The articles write to a log.
    @Sendable func write(_ entry: Entry) { add(entry) }
}

/// A suite with the code of an article, which prints to a log.
protocol Article: Sendable {
    var eventLog: SharedLog<String> { get }
}

extension Article {
    func print(_ line: String) { eventLog.add(line) }
}

/// The files of this package.
enum Package {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The files in `folder` and its subfolders whose names end with `suffix`.
    static func files(under folder: String, named suffix: String) -> [URL] {
        let found = FileManager.default.enumerator(
            at: root.appending(path: folder), includingPropertiesForKeys: nil)
        return (found?.compactMap { $0 as? URL } ?? []).filter { $0.lastPathComponent.hasSuffix(suffix) }
    }
}
