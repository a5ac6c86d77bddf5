import DeferredOperations
import Foundation

/// The temporary files of downloads that cannot be written beside their destinations.
///
/// - A file is downloaded by itself to a part file beside its destination: no staging is needed.
/// - A download for standard output, a pipe or a device is stored in a temporary folder first, so that
///   only whole files are written there.
/// - A download that the server names is stored in a hidden folder, too, until the answer says how.
/// - Mirrors of one file are each downloaded to a file of their own, in a hidden folder beside the
///   destination. The first that is whole is moved to the destination.
///
/// Sound as `@unchecked Sendable`: the variables are accessed only under `lock`.
final class StagingArea: @unchecked Sendable {
    private let options: Options
    private let lock = NSLock()
    /// With a descriptor that locks it while this process runs.
    private var folder: (url: URL, lock: CInt)?
    private var hasWinner = false

    init(_ options: Options) { self.options = options }

    /// Returns the file to download to. Creates the folder of `-d`.
    func place(for download: Download) throws -> URL {
        switch download.destination {
        case .standardOutput, .stream:
            return try stagingFolder { FileManager.default.temporaryDirectory }
                .appendingPathComponent(String(download.index))
        case .file(let path):
            if let folder = options.directory { try Self.makeFolder(folder) }
            if options.usesRemoteName {
                return try stagingFolder { URL.file(options.directory ?? ".") }
                    .appendingPathComponent(String(download.index))
            }
            let kind = FileKind(path)
            if kind == .folder || options.existing == .resume && kind != .nothing && kind != .file {
                throw DataSourceError.cannotWrite(.file(path), reason: "it is \(kind.rawValue)")
            }
            let destination = URL.file(path)
            guard options.takesFirst else { return destination }
            // Nothing is fetched that could not be moved into place.
            if options.existing == .fail, Self.exists(destination) {
                throw DataSourceError.destinationExists(destination)
            }
            if options.existing == .skip, Self.exists(destination) { return destination }
            let target = try URL.fileToReplace(path)
            return try stagingFolder { target.deletingLastPathComponent() }
                .appendingPathComponent(String(download.index))
        }
    }

    /// Moves a whole file to its destination, if it is not there yet.
    func putInPlace(_ file: StagedFile, _ path: String) throws -> Fetched {
        if options.takesFirst, !file.wasKept {
            try withFirstPlace { try move(file.url, to: path) }
        } else if options.usesRemoteName, !file.wasKept {
            try move(file.url, to: path)
        }
        if options.keepsServerTime, let modified = file.lastModified.flatMap(ServerDate.parse) {
            do {
                try FileManager.default.setAttributes(
                    [.modificationDate: modified], ofItemAtPath: URL.file(path).path)
            } catch {
                throw DataSourceError.cannotWrite(
                    .file(path), reason: "its date: \(ErrorText.inWords(error))")
            }
        }
        return Fetched(file, file: path)
    }

    /// Writes a whole file to the pipe or device at `path`, nil for standard output.
    ///
    /// - Throws: `CancellationError` when `isCancelled` returns true.
    func copy(_ file: StagedFile, to path: String?, unless isCancelled: () -> Bool) throws -> Fetched {
        if options.takesFirst { try withFirstPlace {} }
        let handle = try FileHandle(forReadingFrom: file.url)
        defer { try? handle.close() }
        let stream =
            try path.map { try OutputDescriptor.opening($0, unless: isCancelled) } ?? .standardOutput
        defer { if path != nil { stream.close() } }
        while let piece = try handle.read(upToCount: 1 << 18), !piece.isEmpty {
            try stream.write(piece, unless: isCancelled)
        }
        return Fetched(file, file: path)
    }

    /// Removes the folder with everything in it.
    func clear() {
        guard let folder = lock.withLock({ folder }) else { return }
        try? FileManager.default.removeItem(at: folder.url)
        close(folder.lock)
    }

    /// Removes what an earlier run has left that was killed, for the same destinations.
    func removeAbandoned(_ downloads: [Download]) {
        var files: [URL] = []
        var parents: Set<URL> = []
        for download in downloads {
            switch download.destination {
            case .standardOutput, .stream: parents.insert(FileManager.default.temporaryDirectory)
            case .file(let path):
                let file = (try? URL.fileToReplace(path)) ?? .file(path)
                files.append(file)
                if options.takesFirst || options.usesRemoteName {
                    parents.insert(file.deletingLastPathComponent())
                }
            }
        }
        DownloadDataSource.removeAbandonedPartFiles(for: files)
        for parent in parents {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
            for name in names where name.hasPrefix(Self.prefix) {
                let left = parent.appendingPathComponent(name, isDirectory: true)
                guard let lock = Self.locked(left) else { continue }
                try? FileManager.default.removeItem(at: left)
                close(lock)
            }
        }
    }

    private static let prefix = ".fetch-"

    /// Locks a folder of the user's own, of that mode, that nobody has locked. Returns nil if it is none, or if there
    /// are no locks here.
    private static func locked(_ folder: URL, mode: mode_t = 0o700) -> CInt? {
        var status = stat()
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o777 == mode,
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Runs `body` for the first mirror that is whole; the others count as cancelled.
    private func withFirstPlace(_ body: () throws -> Void) throws {
        try lock.withLock {
            guard !hasWinner else { throw CancellationError() }
            try body()
            hasWinner = true
        }
    }

    private func move(_ file: URL, to path: String) throws {
        if options.existing != .overwrite, Self.exists(.file(path)) {
            throw DataSourceError.destinationExists(.file(path))
        }
        let destination = try URL.fileToReplace(path)
        if options.existing != .overwrite {
            // Replaces nothing that appears at this moment. Not every file system has hard links.
            if link(file.path, destination.path) == 0 { return _ = unlink(file.path) }
            if errno == EEXIST { throw DataSourceError.destinationExists(.file(path)) }
        }
        guard rename(file.path, destination.path) == 0 else {
            throw DataSourceError.cannotWrite(destination, reason: ErrorText.words(for: errno))
        }
    }

    /// Returns the folder of this run, which is created on the first call.
    private func stagingFolder(in parent: () -> URL) throws -> URL {
        try lock.withLock {
            if let folder { return folder.url }
            let name = "\(Self.prefix)\(String(UInt64.random(in: .min ... .max), radix: 36))"
            let made = parent().appendingPathComponent(name, isDirectory: true)
            do {
                try FileManager.default.createDirectory(
                    at: made, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o500])
            } catch {
                throw DataSourceError.cannotWrite(parent(), reason: ErrorText.inWords(error))
            }
            // Another run takes a folder of the mode 700 that is not locked for one that was left, and removes it.
            folder = (made, Self.locked(made, mode: 0o500) ?? -1)
            chmod(made.path, 0o700)
            return made
        }
    }

    private static func makeFolder(_ path: String) throws {
        switch FileKind(path) {
        case .nothing, .folder: break
        case let kind: throw DataSourceError.cannotWrite(.file(path), reason: "it is \(kind.rawValue)")
        }
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw DataSourceError.cannotWrite(.file(path), reason: ErrorText.inWords(error))
        }
    }

    /// Whether there is anything at `file`, a symbolic link without a target included.
    private static func exists(_ file: URL) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: file.path)) != nil
    }
}
