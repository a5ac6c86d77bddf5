public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

extension DownloadDataSource {
    /// Copies the file at `destination` to the part file of a resumable download, so that a download with
    /// `resumes: true` only transfers the rest.
    ///
    /// For a file that is known to be the beginning of what `request` names: one that another program
    /// downloaded, say. The server has the last word, as for every part file: if `validator` no longer
    /// matches, the download starts from nothing. The file at `destination` is not changed; replace it with
    /// ``Existing/replace``.
    ///
    /// ```swift
    /// try DownloadDataSource.beginPartFile(for: file, with: request, validator: entityTag)
    /// DownloadDataSource(request, to: file, existing: .replace, resumes: true).request(on: queue)
    /// ```
    ///
    /// Copies in constant memory, on the calling thread. If there is a part file already, it stays.
    ///
    /// - Parameters:
    ///   - validator: For `If-Range`: a strong entity tag (`"…"`), or the date of `Last-Modified` as it was
    ///     received.
    ///   - isCancelled: Called between pieces of 1 MiB; if it returns true, the copy is removed.
    /// - Returns: Whether the file was copied; false if there was a part file.
    /// - Throws: ``DataSourceError/cannotWrite(_:reason:)``, ``DataSourceError/destinationBusy(_:)`` while a
    ///   download is writing the part file, and `CancellationError` if `isCancelled` returned true.
    @discardableResult
    public static func beginPartFile(
        for destination: URL, with request: URLRequest, validator: String,
        unless isCancelled: () -> Bool = { false }
    ) throws -> Bool {
        guard let url = request.url else {
            throw DataSourceError.invalidRequest(nil, reason: "the request has no URL")
        }
        let place = try Destination.find(destination)?.file() ?? destination
        let path = DownloadPlan.partPath(for: place)
        let recordFile = ResumeRecordFile(path: path + ".from")
        do {
            if case .foreign = try recordFile.read() { return false }
            // The existing file is either a part file or a file of the user's; both stay.
            let part: PartFile
            switch try PartFile.continuing(path, isOurs: { false }) {
            case .foreign: return false
            case .busy: throw DataSourceError.destinationBusy(destination)
            case .opened(let opened): part = opened
            }
            do {
                let file = try FileHandle(forReadingFrom: place)
                defer { try? file.close() }
                while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty {
                    if isCancelled() { throw CancellationError() }
                    try part.append(piece)
                }
                let range = request.value(forHTTPHeaderField: "Range")
                guard recordFile.write(ResumeRecord(for: url, range: range, validator: validator)) else {
                    throw DataSourceError.cannotWrite(destination, reason: "no record of the part file")
                }
                return true
            } catch {
                part.remove()
                throw error
            }
        } catch let failure as PartFile.Failure {
            throw DataSourceError.cannotWrite(destination, reason: failure.reason)
        }
    }
}
