import DeferredOperations
import Foundation

extension URL {
    /// The file at `path`, which is absolute or relative to the current folder.
    static func file(_ path: String) -> URL {
        // Foundation replaces a "~" at the beginning by a home folder. That is a shell's task: here the
        // name may have come from a server, and "~" is a character like any other.
        URL(fileURLWithPath: path.hasPrefix("~") ? "./" + path : path)
    }

    /// Returns the file to create or replace at `path`: the target of a symbolic link, so that the link
    /// stays.
    static func fileToReplace(_ path: String) throws(DataSourceError) -> URL {
        switch FileKind(path) {
        case .nothing: return .file(path)
        case .file: return .file(path).resolvingSymlinksInPath()
        case let kind: throw .cannotWrite(.file(path), reason: "it is \(kind.rawValue)")
        }
    }
}

/// What kind of file is at a path, after following symbolic links. The raw values are for messages.
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

    /// Whether data is written to it, in contrast to a file, which is replaced.
    var isStream: Bool { self == .pipe || self == .device }
}
