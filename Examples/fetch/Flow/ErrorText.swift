import Deferred
import DeferredOperations
import Foundation

/// Errors in words for the person at the terminal, on one line.
enum ErrorText {
    static func inWords(_ error: any Error) -> String {
        let text =
            switch error {
            case is CancellationError: "cancelled"
            case let error as DataSourceError: words(for: error)
            case let error as CocoaError: words(for: error)
            case let error as POSIXError: words(for: error.code.rawValue)
            case let error as any CustomStringConvertible: error.description
            default: String(describing: error)
            }
        return text.split(whereSeparator: \.isNewline).joined(separator: " ").printable
    }

    /// The status that the server sent, if the status is the error.
    static func status(in error: any Error) -> Int? {
        switch error {
        case DataSourceError.status(let failure): failure.code
        default: nil
        }
    }

    /// Returns the text for a line that begins with the URL, without the URL. The address of a mirror, or of the target
    /// of a redirect, follows in parentheses.
    ///
    /// - Parameter addressCount: How many addresses have been tried: the URL and its mirrors.
    static func inWords(_ error: any Error, about url: String, addressCount: Int = 1) -> String {
        let text = inWords(error)
        let own = "\(url): "
        if text.hasPrefix(own) { return String(text.dropFirst(own.count)) }
        guard text.hasPrefix("http://") || text.hasPrefix("https://"), let colon = text.range(of: ": ") else {
            return text
        }
        let last = addressCount > 1 ? "the last of \(addressCount) addresses: " : ""
        return "\(text[colon.upperBound...]) (\(last)\(text[..<colon.lowerBound]))"
    }

    private static func words(for error: DataSourceError) -> String {
        switch error {
        case .destinationExists(let file):
            "'\(file.relativePath)' exists; choose --overwrite, --skip-existing or --continue"
        default: error.description
        }
    }

    /// Foundation says "the file couldn't be opened"; the system's error says why.
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

    /// Returns the system's text, without a capital letter, as it stands within a line.
    static func words(for code: Int32) -> String {
        let text = String(cString: strerror(code))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}
