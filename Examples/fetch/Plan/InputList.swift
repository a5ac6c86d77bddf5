import Foundation

/// The URLs that `--input` names.
enum InputList {
    /// Reads `path`, `-` for standard input.
    static func read(_ path: String) throws(UsageError) -> [String] {
        do {
            return parse(path == "-" ? try standardInput() : try Data(contentsOf: .file(path)))
        } catch {
            throw UsageError(
                problem: "cannot read '\(path)' for --input: \(Reason.inWords(error))",
                hint: "it takes a file with a URL on each line, or '-' for standard input")
        }
    }

    /// All of it. (`FileHandle` does not say why it can't be read.)
    private static func standardInput() throws -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Foundation.read(STDIN_FILENO, &buffer, buffer.count)
            switch count {
            case 1...: data += buffer[..<count]
            case 0: return data
            default: if errno != EINTR { throw Unreadable(code: errno) }
            }
        }
    }

    private struct Unreadable: Error, CustomStringConvertible {
        let code: CInt
        var description: String { code == EBADF ? "standard input is closed" : Reason.words(for: code) }
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
