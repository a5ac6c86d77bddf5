import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Checks under `--newer` that what a server sends is newer than the file that exists.
///
/// A server is asked by `If-Modified-Since`. Some ignore that, and some answer 304 to the very date of their file only:
/// what they send then is compared here, by its date, and by its length, as a file that has another is not whole.
struct NewerCheck: Sendable {
    let place: URL
    let local: LocalFile

    init(_ place: URL, _ local: LocalFile) { (self.place, self.local) = (place, local) }

    /// - Throws: ``Kept`` if the file is not newer.
    func check(_ response: HTTPURLResponse) throws(Kept) {
        let remote = RemoteFile(response)
        guard let modified = remote.modified, modified <= local.modified,
            remote.byteCount == nil || remote.byteCount == local.byteCount
        else { return }
        throw Kept(path: place.path, byteCount: local.byteCount, status: response.statusCode)
    }
}
