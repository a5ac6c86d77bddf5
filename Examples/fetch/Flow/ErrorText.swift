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
        guard let colon = text.range(of: ": "), let address = plainAddress(String(text[..<colon.lowerBound]))
        else {
            return text
        }
        let reason = text[colon.upperBound...]
        if address == plainAddress(url) { return String(reason) }
        let last = addressCount > 1 ? "the last of \(addressCount) addresses: " : ""
        return "\(reason) (\(last)\(text[..<colon.lowerBound]))"
    }

    /// Returns the same text for all spellings of an address; nil if `text` is none.
    private static func plainAddress(_ text: String) -> String? {
        guard let url = try? WebAddress.parse(text),
            var components = URLComponents(url: url.withoutUserInfo, resolvingAgainstBaseURL: true)
        else { return nil }
        components.scheme = components.scheme?.lowercased()
        components.fragment = nil
        if components.percentEncodedPath.isEmpty { components.percentEncodedPath = "/" }
        return components.string
    }

    private static func words(for error: DataSourceError) -> String {
        switch error {
        case .destinationExists(let file):
            "'\(file.relativePath)' exists; choose --overwrite, --skip-existing, --continue or --newer"
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
