import Foundation

/// A set of files to fetch.
enum FileSet: String, CaseIterable {
    case small, large

    var fileCount: Int { self == .small ? 1000 : 5 }
    var byteCount: Int { self == .small ? 4096 : 200_000_000 }

    var title: String { self == .small ? "1,000 files of 4 KB" : "5 files of 200 MB" }

    /// The path of its files on a server.
    var paths: [String] { (0..<fileCount).map { "\(rawValue)/\($0)" } }
}

/// A job, as passed to a process on its command line.
struct FetchArguments: Sendable {
    let urls: [URL]
    private let folder: URL
    let atOnce: Int

    init(urls: [URL], into folder: String, atOnce: Int) {
        self.urls = urls
        self.folder = URL(fileURLWithPath: folder)
        self.atOnce = atOnce
    }

    func file(for url: URL) -> URL { folder.appendingPathComponent(url.lastPathComponent) }
}
