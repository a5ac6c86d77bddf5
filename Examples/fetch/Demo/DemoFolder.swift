import Foundation

/// The folder for the demo's files: the one of `-d`, or a temporary one, which is removed at the end.
struct DemoFolder: Sendable {
    let path: String
    private let isTemporary: Bool

    init(_ wanted: String?) {
        isTemporary = wanted == nil
        path =
            wanted
            ?? FileManager.default.temporaryDirectory
            .appendingPathComponent("fetch-demo-\(String(UInt64.random(in: .min ... .max), radix: 36))").path
    }

    /// The names of the files in the folder, sorted.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    func file(_ name: String) -> String { path.hasSuffix("/") ? path + name : path + "/" + name }

    func clear() {
        if isTemporary { try? FileManager.default.removeItem(atPath: path) }
    }
}
