internal import Foundation

/// A file in the folder for temporary files, readable by its owner only, which is removed with this object at the
/// latest.
///
/// Sound as `@unchecked Sendable`: `file` is used by the thread that writes it alone, before the object is shared.
final class TemporaryFile: @unchecked Sendable {
    let url: URL
    private let file: PartFile

    init() throws(DataSourceError) {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
        do { file = try PartFile.creating(url.path) } catch {
            throw .cannotWrite(url, reason: error.reason)
        }
    }

    deinit {
        remove()
    }

    func append(_ data: Data) throws(DataSourceError) {
        do { try file.append(data) } catch { throw .cannotWrite(url, reason: error.reason) }
    }

    func remove() {
        unlink(url.path)
    }
}
