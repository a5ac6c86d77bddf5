internal import Foundation

/// What a download has been asked to do.
struct DownloadPlan {
    let destination: URL
    let existing: DownloadDataSource.Existing
    let resumes: Bool
    let createsFolders: Bool
    let expectedByteCount: Int64?
    let mirrors: [URL]
    let verify: (@Sendable (URL) throws -> Void)?

    /// Where the part file of a download to `place` is: `name.part` in the same folder, for later downloads to
    /// find, or with `unique` in its name, for this one alone. A name that would become too long is cut and
    /// made distinct by a hash.
    static func partPath(for place: URL, unique: String? = nil) -> String {
        var name = place.lastPathComponent
        if name.utf8.count > 200 {
            let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01b3
            }
            while name.utf8.count > 150 { name.removeLast() }
            name += "-" + String(hash, radix: 16)
        }
        let folder = place.deletingLastPathComponent().path
        return folder + "/" + ([name, unique].compactMap { $0 } + ["part"]).joined(separator: ".")
    }

    /// Makes the folder that the destination is in, and those around it, if that was asked for.
    func createFolders() throws(DataSourceError) {
        guard createsFolders else { return }
        do {
            try FileManager.default.createDirectory(
                at: destination.deletingLastPathComponent(), withIntermediateDirectories: true)
        } catch {
            throw .cannotWrite(
                destination, reason: "its folder cannot be made: \(error.localizedDescription)")
        }
    }
}
