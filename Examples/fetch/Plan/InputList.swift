import Foundation

/// The URLs that `--input` names.
enum InputList {
    /// Reads `path`, `-` for standard input.
    static func read(_ path: String) throws(UsageError) -> [String] {
        do {
            if path == "-" { return parse(try FileHandle.standardInput.readToEnd() ?? Data()) }
            return parse(try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw UsageError(
                problem: "cannot read '\(path)' for --input: \(Reason.inWords(error))",
                hint: "it takes a file with a URL on each line, or '-' for standard input")
        }
    }

    /// A URL on each line, whatever ends the lines; blank ones and `#` comments are passed over.
    static func parse(_ bytes: some Collection<UInt8>) -> [String] {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: byteOrderMark) ? bytes.dropFirst(byteOrderMark.count) : bytes[...]
        return text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
}
