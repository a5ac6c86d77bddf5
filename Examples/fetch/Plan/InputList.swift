import Foundation

/// The URLs of `--input`, each with its checksum if the line has one.
enum InputList {
    struct Line: Equatable, Sendable {
        let url: String
        var checksum: Checksum?
    }

    /// Reads the file, pipe or device at `path`, or standard input if that is `-`.
    static func read(_ path: String) throws(UsageError) -> [Line] {
        do {
            let contents = try contents(path)
            guard let text = String(validating: contents, as: UTF8.self) else { throw NotUTF8() }
            return try parse(text.utf8)
        } catch let error as InvalidChecksum {
            throw UsageError(
                problem: "line \(error.line) of '\(path)' for --input: '\(error.word)' is not a checksum",
                hint: "write it after the URL as sha256=HEX, with 64 hexadecimal digits")
        } catch {
            throw UsageError(
                problem: "cannot read '\(path)' for --input: \(ErrorText.inWords(error))",
                hint: "it takes a file with a URL on each line, or '-' for standard input")
        }
    }

    /// Reads a file, pipe or device, or standard input, to the end.
    ///
    /// - Throws: Also if that has more than `limit` bytes: it may have no end.
    static func contents(_ path: String, limit: Int = 1 << 30) throws -> Data {
        if path == "-" { return try contents(of: STDIN_FILENO, limit) }
        var descriptor: CInt
        // Opening a pipe waits for its writer, and a signal may interrupt that.
        repeat { descriptor = open(path, O_RDONLY | O_CLOEXEC) } while descriptor < 0 && errno == EINTR
        guard descriptor >= 0 else { throw Unreadable(code: errno) }
        defer { close(descriptor) }
        return try contents(of: descriptor, limit)
    }

    /// Reads to the end. (`FileHandle` does not report why a read failed, and `Data` reads no pipes.)
    private static func contents(of descriptor: CInt, _ limit: Int) throws -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Foundation.read(descriptor, &buffer, buffer.count)
            switch count {
            case 1...:
                data += buffer[..<count]
                if data.count > limit { throw TooLong(limit: limit) }
            case 0: return data
            default: if errno != EINTR { throw Unreadable(code: errno) }
            }
        }
    }

    private struct NotUTF8: Error, CustomStringConvertible {
        let description = "it is not UTF-8"
    }

    private struct TooLong: Error, CustomStringConvertible {
        let limit: Int
        var description: String { "it has more than \(limit >> 20) MiB" }
    }

    private struct Unreadable: Error, CustomStringConvertible {
        let code: CInt
        var description: String { code == EBADF ? "standard input is closed" : ErrorText.words(for: code) }
    }

    struct InvalidChecksum: Error, Equatable {
        let line: Int
        let word: String
    }

    /// The names that a checksum may have in such lists. What follows a blank and begins with another one is a part of
    /// the URL.
    private static let kinds: Set = [
        "adler32", "b2", "b3", "blake2b", "blake2s", "blake3", "checksum", "crc32", "crc32c", "md5",
        "ripemd160", "sha1",
        "sha224", "sha256", "sha384", "sha512", "sha512256", "sha3256", "sha3384", "sha3512", "xxh64",
    ]

    /// Returns the lines with a URL, with any line endings. Skips blank lines and `#` comments.
    static func parse(_ bytes: some Collection<UInt8>) throws(InvalidChecksum) -> [Line] {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: byteOrderMark) ? bytes.dropFirst(byteOrderMark.count) : bytes[...]
        var lines: [Line] = []
        var number = 1
        var rest = text[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
            let end = rest[line.endIndex...].prefix(2)
            rest = rest[line.endIndex...].dropFirst(end.elementsEqual([13, 10]) ? 2 : 1)
            let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespaces)
            if !text.isEmpty, !text.hasPrefix("#") { lines.append(try parse(text, number)) }
            number += 1
        }
        return lines
    }

    private static func parse(_ line: String, _ number: Int) throws(InvalidChecksum) -> Line {
        // A `#` that belongs to the URL has no blank before it.
        let comment = line.firstMatch(of: #/\s+#/#)?.range.lowerBound
        let text = line[..<(comment ?? line.endIndex)]
        guard let space = text.firstIndex(where: \.isWhitespace) else { return Line(url: String(text)) }
        let rest = text[space...].trimmingCharacters(in: .whitespaces)
        guard looksLikeChecksum(rest) else { return Line(url: String(text)) }
        guard let checksum = Checksum(parsing: rest) else {
            throw InvalidChecksum(line: number, word: String(rest.prefix(80)).printable)
        }
        return Line(url: String(text[..<space]), checksum: checksum)
    }

    /// Whether what follows a URL is meant as a checksum, however it is written: what is not checked must not pass for it.
    private static func looksLikeChecksum(_ rest: String) -> Bool {
        if rest.contains(#/(^|\s)["']?[0-9A-Fa-f]{32,}["']?($|\s)/#) { return true }
        return rest.matches(of: #/(^|[\s"'])([A-Za-z0-9-]+)["']?\s*[=:]/#).contains {
            kinds.contains($0.output.2.lowercased().replacing("-", with: ""))
        }
    }
}
