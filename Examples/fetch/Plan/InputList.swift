import Foundation

/// The URLs of `--input`.
enum InputList {
    /// Reads the file, pipe or device at `path`, or standard input if that is `-`.
    static func read(_ path: String) throws(UsageError) -> [String] {
        do {
            let contents = try contents(path)
            guard let text = String(validating: contents, as: UTF8.self) else { throw NotUTF8() }
            return parse(text.utf8)
        } catch {
            throw UsageError(
                problem: "cannot read '\(path)' for --input: \(ErrorText.inWords(error))",
                hint: "it takes a file with a URL on each line, or '-' for standard input")
        }
    }

    private static func contents(_ path: String) throws -> Data {
        if path == "-" { return try contents(of: STDIN_FILENO) }
        var descriptor: CInt
        // Opening a pipe waits for its writer, and a signal may interrupt that.
        repeat { descriptor = open(path, O_RDONLY | O_CLOEXEC) } while descriptor < 0 && errno == EINTR
        guard descriptor >= 0 else { throw Unreadable(code: errno) }
        defer { close(descriptor) }
        return try contents(of: descriptor)
    }

    /// Reads to the end. (`FileHandle` does not report why a read failed, and `Data` reads no pipes.)
    private static func contents(of descriptor: CInt) throws -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Foundation.read(descriptor, &buffer, buffer.count)
            switch count {
            case 1...: data += buffer[..<count]
            case 0: return data
            default: if errno != EINTR { throw Unreadable(code: errno) }
            }
        }
    }

    private struct NotUTF8: Error, CustomStringConvertible {
        let description = "it is not UTF-8"
    }

    private struct Unreadable: Error, CustomStringConvertible {
        let code: CInt
        var description: String { code == EBADF ? "standard input is closed" : ErrorText.words(for: code) }
    }

    /// Returns the URLs, one a line, with any line endings. Skips blank lines and `#` comments.
    static func parse(_ bytes: some Collection<UInt8>) -> [String] {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: byteOrderMark) ? bytes.dropFirst(byteOrderMark.count) : bytes[...]
        return text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
}
