internal import Foundation

/// Something that is at the destination of a download already.
struct Destination {
    private let url: URL

    /// Inspects the destination at `url`; nil if nothing exists there. A symbolic link without a target counts.
    ///
    /// - Throws: ``DataSourceError/cannotWrite(_:reason:)`` if nothing can ever be there: the name is too long, or
    ///   its folder is a file.
    static func find(_ url: URL) throws(DataSourceError) -> Destination? {
        var status = stat()
        if lstat(url.path, &status) == 0 { return Destination(url: url) }
        guard errno == ENOENT else { throw .cannotWrite(url, reason: String(cString: strerror(errno))) }
        return nil
    }

    /// The file that is there, or that a symbolic link there leads to.
    ///
    /// - Throws: ``DataSourceError/cannotWrite(_:reason:)`` if it is not a regular file: a device replaced by
    ///   a file would be lost for all programs.
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
