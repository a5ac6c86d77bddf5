import Foundation

/// Files that are written in addition to the downloads: the picture and the trace.
extension Options {
    var sideFiles: [(option: String, path: String)] {
        [("--waterfall", waterfall), ("--trace", trace)].compactMap { option, path in
            path.map { (option, $0) }
        }
    }

    /// Throws if a file is to be in the current folder, and that has been deleted: no path leads to it.
    func checkCurrentFolder(for downloads: [Download]) throws(UsageError) {
        let paths = downloads.compactMap { download -> String? in
            if case .file(let path) = download.destination { path } else { nil }
        }
        guard (paths + sideFiles.map(\.path)).contains(where: { !$0.hasPrefix("/") }) else { return }
        guard let current = getcwd(nil, 0) else {
            throw UsageError(
                problem: "the current folder cannot be used: \(ErrorText.words(for: errno))",
                hint: "it may have been deleted; change to another one")
        }
        free(current)
    }

    /// Throws if one of them would replace a file without `--overwrite`, or replace a download.
    func checkSideFiles(besides downloads: [Download] = []) throws(UsageError) {
        for case .stream(let path) in downloads.map(\.destination) where writesJSON {
            if OutputDescriptor.isStandardOutput(path) {
                throw .contradiction("--json and -o \(path)", "both want standard output")
            }
        }
        guard !sideFiles.isEmpty else { return }
        var wanted: [String: String] = [:]
        for download in downloads {
            guard case .file(let path) = download.destination else { continue }
            wanted[Self.place(path)] = output == .named ? download.text.printable : "-o"
        }
        for (option, path) in sideFiles {
            if writesJSON || output == .standardOutput, OutputDescriptor.isStandardOutput(path) {
                throw .contradiction(
                    "\(writesJSON ? "--json" : "-o -") and \(option)", "both want standard output")
            }
            if let other = wanted.updateValue(option, forKey: Self.place(path)) {
                throw .contradiction("\(other) and \(option)", "both want \(path)")
            }
            switch FileKind(path) {
            case .nothing where !hasFolder(path):
                throw UsageError(
                    problem: "'\(path)' for \(option) is in no folder", hint: "create the folder before")
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

    /// Whether the folder of a file exists, or is created for `-d`.
    private func hasFolder(_ path: String) -> Bool {
        let folder = URL.file(path).deletingLastPathComponent().path
        let created = directory.map { Self.place($0) + "/" } ?? ""
        return FileKind(folder) == .folder || created.hasPrefix(Self.place(folder) + "/")
    }

    /// The places of those files, which no download may have.
    var sidePlaces: Set<String> { Set(sideFiles.map { Self.place($0.path) }) }

    /// Returns the same path for all paths to one file.
    static func place(_ path: String) -> String {
        let file = URL.file(path).standardizedFileURL
        return file.deletingLastPathComponent().resolvingSymlinksInPath()
            .appendingPathComponent(file.lastPathComponent).resolvingSymlinksInPath().path
    }
}
