import DeferredOperations
import Foundation

extension URL {
    /// The file at `path`, absolute or from the current folder.
    static func file(_ path: String) -> URL {
        // Foundation takes a "~" at the beginning for a home folder. That is for a shell to do: here it is a
        // character like any other, and the name may have come from a server.
        URL(fileURLWithPath: path.hasPrefix("~") ? "./" + path : path)
    }

    /// The file that is replaced, or made, at `path`: what a symbolic link leads to, so that the link stays.
    static func fileToReplace(_ path: String) throws(DataSourceError) -> URL {
        switch FileKind(path) {
        case .nothing: return .file(path)
        case .file: return .file(path).resolvingSymlinksInPath()
        case let kind: throw .cannotWrite(.file(path), reason: "it is \(kind.rawValue)")
        }
    }
}

/// What is at a path, symbolic links followed; in words.
enum FileKind: String {
    case nothing
    case file = "a file"
    case folder = "a directory"
    case pipe = "a pipe"
    case device = "a device"
    case socket = "a socket"
    case danglingLink = "a symbolic link that leads nowhere"

    init(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            self = lstat(path, &status) == 0 ? .danglingLink : .nothing
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: self = .folder
        case S_IFIFO: self = .pipe
        case S_IFCHR, S_IFBLK: self = .device
        case S_IFSOCK: self = .socket
        default: self = .file
        }
    }

    /// It is written to as it is: a file in its place would be something else.
    var isStream: Bool { self == .pipe || self == .device }
}
