import Foundation

/// The outcome of one URL.
struct Report: Sendable {
    enum End: Equatable, Sendable {
        case fetched
        /// The file was there before.
        case skipped
        case failed(reason: String)
        case cancelled(reason: String)
    }

    let url: String
    var end: End
    /// The status of the server's last answer, if there was one.
    var status: Int?
    /// The length of the file; of a failed download, what the last attempt received.
    var byteCount: Int64 = 0
    /// The path of the file, nil if there is none.
    var file: String?
    var duration = Duration.zero
    var attempts = 0

    /// The report as one line of JSON. The keys are always the same, in the same order, except that `error`
    /// is left out where there is none. `result` is `skipped` where a file that was there before stays as it is.
    var json: String {
        let members: [(String, String?)] = [
            ("url", Self.quoted(url)), ("status", status.map(String.init) ?? "null"),
            ("bytes", String(byteCount)),
            ("file", file.map(Self.quoted) ?? "null"),
            ("seconds", String(format: "%.3f", duration / .seconds(1))), ("attempts", String(attempts)),
            ("result", Self.quoted(timelineEnd.rawValue)),
            ("error", error.map(Self.quoted)),
        ]
        return "{"
            + members.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }.joined(separator: ",")
            + "}"
    }

    var error: String? {
        switch end {
        case .fetched, .skipped: nil
        case .failed(let reason), .cancelled(let reason): reason
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            // Valid in JSON, most of them, but not safe where it is printed or read line by line.
            case _ where scalar.isUnsafeToPrint:
                for unit in String(scalar).utf16 { quoted += String(format: "\\u%04x", unit) }
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
