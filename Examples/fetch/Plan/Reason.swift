import Deferred
import DeferredOperations
import Foundation

/// Why something failed, in words for the person at the terminal, on one line.
enum Reason {
    static func inWords(_ error: any Error) -> String {
        let text =
            switch error {
            case is CancellationError: "cancelled"
            case let error as RetryError:
                inWords(error.last) + (error.errors.count > 1 ? " (\(error.errors.count) tries)" : "")
            case let error as DataSourceError: words(for: error)
            case let error as CocoaError: words(for: error)
            case let error as POSIXError: words(for: error.code.rawValue)
            case let error as any CustomStringConvertible: error.description
            default: String(describing: error)
            }
        return text.split(whereSeparator: \.isNewline).joined(separator: " ").printable
    }

    /// The status that the server answered with, if it is what failed.
    static func status(in error: any Error) -> Int? {
        switch error {
        case let error as RetryError: status(in: error.last)
        case DataSourceError.status(let failure): failure.code
        default: nil
        }
    }

    /// What the line is about is said before it: not again here.
    static func inWords(_ error: any Error, about url: String) -> String {
        String(inWords(error).trimmingPrefix("\(url): "))
    }

    private static func words(for error: DataSourceError) -> String {
        switch error {
        case .destinationExists(let file):
            "'\(file.relativePath)' exists; choose --overwrite, --skip-existing or --continue"
        default: error.description
        }
    }

    /// Foundation says "the file couldn't be opened"; the system below it knows why.
    private static func words(for error: CocoaError) -> String {
        if let underlying = error.underlying as? POSIXError { return words(for: underlying.code.rawValue) }
        return switch error.code {
        case .fileNoSuchFile, .fileReadNoSuchFile: "no such file or directory"
        case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
        case .fileWriteOutOfSpace: "no space left on device"
        case .fileWriteFileExists: "a file of that name exists"
        case .fileWriteVolumeReadOnly: "read-only file system"
        default: error.localizedDescription
        }
    }

    /// As the system has it, without a capital in the middle of a line.
    static func words(for code: Int32) -> String {
        let text = String(cString: strerror(code))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}
