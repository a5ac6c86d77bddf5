import DeferredOperations
import Foundation

/// Where what is fetched waits until it is put in its place, if it can't be there from the start.
///
/// A file goes to its place by itself. What is for standard output or its like is whole before any of it is written
/// there, in a temporary folder; and mirrors of one thing each have a file of their own, in a hidden folder
/// beside the destination, of which the first to be whole is moved there.
///
/// Sound as `@unchecked Sendable`: what changes is touched only with `lock` held.
final class Stage: @unchecked Sendable {
    private let options: Options
    private let lock = NSLock()
    private var folder: URL?
    private var hasWinner = false

    init(_ options: Options) { self.options = options }

    /// Where to download to.
    func place(for transfer: Transfer) throws -> URL {
        switch transfer.destination {
        case .standardOutput, .stream:
            return try waitingFolder { FileManager.default.temporaryDirectory }
                .appendingPathComponent(String(transfer.index))
        case .file(let path):
            if let folder = options.directory { try Self.makeFolder(folder) }
            if FileKind(path) == .folder {
                throw DataSourceError.cannotWrite(.file(path), reason: "it is a directory")
            }
            let destination = URL.file(path)
            guard options.takesFirst else { return destination }
            // There is no sense in a race if its prize can't be put in place.
            if options.existing == .fail, Self.exists(destination) {
                throw DataSourceError.destinationExists(destination)
            }
            if options.existing == .skip, Self.exists(destination) { return destination }
            let target = try URL.fileToReplace(path)
            return try waitingFolder { target.deletingLastPathComponent() }
                .appendingPathComponent(String(transfer.index))
        }
    }

    /// Has a whole file in its place.
    func putInPlace(_ file: DownloadDataSource.File, _ path: String) throws -> Fetched {
        if options.takesFirst, !file.wasKept {
            try award { try move(file.url, to: path) }
        }
        return Fetched(
            file: path, byteCount: file.byteCount,
            received: file.wasKept ? 0 : file.byteCount - file.resumedAt,
            status: file.response?.statusCode, wasThere: file.wasKept)
    }

    /// Writes a whole file to the pipe or device at `path`, nil for standard output, unless that is
    /// cancelled.
    func copy(
        _ file: DownloadDataSource.File, to path: String?, unless isCancelled: () -> Bool
    ) throws -> Fetched {
        if options.takesFirst { try award {} }
        let handle = try FileHandle(forReadingFrom: file.url)
        defer { try? handle.close() }
        let stream =
            try path.map { try OutputStream.opening($0, unless: isCancelled) } ?? .standardOutput
        defer { if path != nil { stream.close() } }
        while let piece = try handle.read(upToCount: 1 << 18), !piece.isEmpty {
            try stream.write(piece, unless: isCancelled)
        }
        return Fetched(file: path, byteCount: file.byteCount, status: file.response?.statusCode)
    }

    /// Takes away what is left.
    func clear() {
        guard let folder = lock.withLock({ folder }) else { return }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Does what only the first mirror to come here may do; the others count as cancelled.
    private func award(_ prize: () throws -> Void) throws {
        try lock.withLock {
            guard !hasWinner else { throw CancellationError() }
            try prize()
            hasWinner = true
        }
    }

    private func move(_ file: URL, to path: String) throws {
        if options.existing != .overwrite, Self.exists(.file(path)) {
            throw DataSourceError.destinationExists(.file(path))
        }
        let destination = try URL.fileToReplace(path)
        guard rename(file.path, destination.path) == 0 else {
            throw DataSourceError.cannotWrite(destination, reason: Reason.words(for: errno))
        }
    }

    /// The folder of this run, made when it is first needed.
    private func waitingFolder(in parent: () -> URL) throws -> URL {
        try lock.withLock {
            if let folder { return folder }
            let name = ".fetch-\(String(UInt64.random(in: .min ... .max), radix: 36))"
            let made = parent().appendingPathComponent(name, isDirectory: true)
            do {
                try FileManager.default.createDirectory(
                    at: made, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            } catch {
                throw DataSourceError.cannotWrite(parent(), reason: Reason.inWords(error))
            }
            folder = made
            return made
        }
    }

    private static func makeFolder(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw DataSourceError.cannotWrite(.file(path), reason: Reason.inWords(error))
        }
    }

    /// Whether something is there, a link that leads nowhere included.
    private static func exists(_ file: URL) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: file.path)) != nil
    }
}
