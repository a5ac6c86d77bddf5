import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The names of `--remote-name`: each is known when the head of an answer has come.
///
/// Sound as `@unchecked Sendable`: the variables are accessed only under `lock`.
final class RemoteNames: @unchecked Sendable {
    private let folder: String?
    private let existing: Options.Existing
    /// Whether all are of one file.
    private let areMirrors: Bool
    /// Where the picture and the trace will be.
    private let sidePlaces: Set<String>
    private let lock = NSLock()
    private var names = UniqueNames()
    /// The name that was wanted for a download, and the path that it has.
    private var given: [Int: (wanted: String, path: String)] = [:]

    init(_ options: Options) {
        folder = options.directory
        existing = options.existing
        areMirrors = options.takesFirst
        sidePlaces = options.sidePlaces
    }

    /// Decides the path of a download by the answer. A name that another download of this run has, or its
    /// picture or trace, gets a number.
    ///
    /// - Throws: What `existing` demands if there is a file: ``Kept``, or `DataSourceError.destinationExists`; and
    ///   `DataSourceError.cannotWrite` if there is anything else.
    func decide(_ response: HTTPURLResponse, _ download: Download) throws {
        let header = response.value(forHTTPHeaderField: "Content-Disposition")
        let sent = header.flatMap(ContentDisposition.fileName).flatMap(FileName.ofServer)
        let wanted = sent ?? (try? download.url.get()).map { FileName.of($0) } ?? "index.html"
        let path = lock.withLock { () -> String in
            if let given = given[download.index], given.wanted == wanted { return given.path }
            var path = (areMirrors ? wanted : names.make(wanted)).inFolder(folder)
            while !sidePlaces.isEmpty, sidePlaces.contains(Options.place(path)) {
                path = names.make(wanted).inFolder(folder)
            }
            given[download.index] = (wanted, path)
            return path
        }
        switch FileKind(path) {
        case .nothing: return
        case .file where existing == .overwrite: return
        case .file where existing == .skip:
            throw Kept(
                path: path, byteCount: LocalFile(.file(path))?.byteCount ?? 0, status: response.statusCode)
        case .file: throw DataSourceError.destinationExists(.file(path))
        case let kind: throw DataSourceError.cannotWrite(.file(path), reason: "it is \(kind.rawValue)")
        }
    }

    /// Returns the path of a download whose answer has come.
    func path(of download: Download) -> String? { lock.withLock { given[download.index]?.path } }
}

/// Ends a transfer whose file is there already: not an error of the download.
struct Kept: Error {
    let path: String
    let byteCount: Int64
    let status: Int
}
