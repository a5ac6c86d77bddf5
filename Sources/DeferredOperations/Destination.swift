internal import Foundation

/// Something that is at the destination of a download already.
struct Destination {
    private let url: URL

    /// Nil if there is nothing, not even a symbolic link that leads nowhere.
    init?(_ url: URL) {
        var status = stat()
        guard lstat(url.path, &status) == 0 else { return nil }
        self.url = url
    }

    /// The file that is there, or that a symbolic link there leads to.
    ///
    /// - Throws: ``DataSourceError/cannotWrite(_:reason:)`` for what is no file: a device that is replaced by
    ///   a file is gone for everybody.
    func file() throws(DataSourceError) -> URL {
        guard let resolved = realpath(url.path, nil) else {
            let isDangling = errno == ENOENT
            throw .cannotWrite(
                url,
                reason: isDangling
                    ? "it is a symbolic link that leads nowhere" : String(cString: strerror(errno)))
        }
        defer { free(resolved) }
        var status = stat()
        guard stat(resolved, &status) == 0 else {
            throw .cannotWrite(url, reason: String(cString: strerror(errno)))
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw .cannotWrite(url, reason: "it is a directory")
        default: throw .cannotWrite(url, reason: "it is a pipe, a device or a socket")
        }
        var link = stat()
        let isLink = lstat(url.path, &link) == 0 && link.st_mode & S_IFMT == S_IFLNK
        return isLink ? URL(fileURLWithPath: String(cString: resolved)) : url
    }
}
