import DeferredOperations
import Foundation

/// A whole file: at its destination, or waiting to be moved or copied there.
struct StagedFile: Sendable {
    let url: URL
    /// The length of the file.
    let byteCount: Int64
    /// How many of these bytes were there before.
    let resumedAt: Int64
    /// The status that the server sent; nil if it was not asked.
    let status: Int?
    /// Whether the file was there before, whole.
    let wasKept: Bool
    /// The date of the last modification, as the server sent it.
    let lastModified: String?

    /// A file at `url` that stays as it is.
    init(kept url: URL, byteCount: Int64, status: Int?) {
        self.url = url
        self.byteCount = byteCount
        self.status = status
        resumedAt = 0
        wasKept = true
        lastModified = nil
    }

    init(_ file: DownloadDataSource.File) {
        url = file.url
        byteCount = file.byteCount
        resumedAt = file.resumedAt
        status = file.response?.statusCode
        wasKept = file.wasKept
        lastModified = file.response?.value(forHTTPHeaderField: "Last-Modified")
    }
}

/// The result of a download that succeeded.
struct Fetched: Sendable {
    /// The file's path; nil if the contents were written to standard output.
    let file: String?
    /// The length of the file.
    let byteCount: Int64
    /// How many bytes were received in this run.
    let received: Int64
    /// The status that the server sent; nil if it was not asked.
    let status: Int?
    /// Whether the file was there before, whole.
    let wasThere: Bool

    /// What has been written to standard output as it came.
    init(streamed byteCount: Int64, status: Int?) {
        (file, self.byteCount, received) = (nil, byteCount, byteCount)
        self.status = status
        wasThere = false
    }

    init(_ staged: StagedFile, file: String?) {
        self.file = file
        byteCount = staged.byteCount
        received = staged.wasKept ? 0 : staged.byteCount - staged.resumedAt
        status = staged.status
        wasThere = staged.wasKept
    }
}
