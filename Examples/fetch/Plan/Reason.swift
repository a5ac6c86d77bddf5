import Deferred
import Foundation

/// Why something failed, in words for the person at the terminal, on one line.
enum Reason {
    static func inWords(_ error: any Error) -> String {
        let text =
            switch error {
            case is CancellationError: "cancelled"
            case let error as CocoaError: words(for: error)
            case let error as POSIXError: words(for: error.code.rawValue)
            case let error as any CustomStringConvertible: error.description
            default: String(describing: error)
            }
        return text.split(whereSeparator: \.isNewline).joined(separator: " ").printable
    }

    /// Foundation says "the file couldn't be opened"; the system below it knows why.
    private static func words(for error: CocoaError) -> String {
        if let underlying = error.underlying as? POSIXError { return words(for: underlying.code.rawValue) }
        return switch error.code {
        case .fileNoSuchFile, .fileReadNoSuchFile: "no such file or folder"
        case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
        case .fileWriteOutOfSpace: "no space left on device"
        case .fileWriteFileExists: "it exists"
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
