import Foundation

/// What is written besides what is fetched: the picture and the trace.
extension Options {
    var sideFiles: [(option: String, path: String)] {
        [("--waterfall", waterfall), ("--trace", trace)].compactMap { option, path in
            path.map { (option, $0) }
        }
    }

    /// Throws if one of them would replace what is there without leave, or what is fetched.
    func checkSideFiles(besides transfers: [Transfer] = []) throws(UsageError) {
        guard !sideFiles.isEmpty else { return }
        var wanted: [String: String] = [:]
        for transfer in transfers {
            guard case .file(let path) = transfer.destination else { continue }
            wanted[Self.place(path)] = output == .named ? transfer.text.printable : "-o"
        }
        for (option, path) in sideFiles {
            if let other = wanted.updateValue(option, forKey: Self.place(path)) {
                throw .contradiction("\(other) and \(option)", "both want \(path)")
            }
            switch FileKind(path) {
            case .nothing, .pipe, .device: break
            case .file where existing == .overwrite: break
            case .file:
                throw UsageError(
                    problem: "'\(path)' for \(option) exists",
                    hint: existing == .fail ? "choose --overwrite to replace it" : "choose another name")
            case let kind:
                throw UsageError(
                    problem: "'\(path)' for \(option) is \(kind.rawValue)", hint: "it takes a file")
            }
        }
    }

    /// What two paths to one file have in common.
    private static func place(_ path: String) -> String {
        let file = URL.file(path).standardizedFileURL
        return file.deletingLastPathComponent().resolvingSymlinksInPath()
            .appendingPathComponent(file.lastPathComponent).resolvingSymlinksInPath().path
    }
}
