import Foundation

/// The names and passwords of hosts, from a file in the format of ftp(1), which curl and wget read, too.
struct Netrc: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        /// In lower case; nil for `default`.
        let host: String?
        var login: String?
        var password: String?
    }

    /// A file that cannot be understood. It does not quote the file.
    struct Malformed: Error, Equatable, CustomStringConvertible {
        let line: Int
        let reason: String
        var description: String { "line \(line): \(reason)" }
    }

    var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }

    /// Returns the value of `Authorization` for a host: of its first entry, with that login if one is given; or of
    /// `default`, unless a server has chosen the host.
    func authorization(for host: String, login: String? = nil, isRedirect: Bool = false) -> String? {
        let host = host.lowercased()
        func fits(_ entry: Entry) -> Bool { entry.login != nil && (login == nil || entry.login == login) }
        let entry =
            entries.first { $0.host == host && fits($0) }
            ?? (isRedirect ? nil : entries.first { $0.host == nil && fits($0) })
        guard let entry, let login = entry.login else { return nil }
        return "Basic " + Data("\(login):\(entry.password ?? "")".utf8).base64EncodedString()
    }

    init() {}

    /// Reads the text of a file.
    init(parsing text: String) throws(Malformed) {
        var words = Words(text)
        while let word = try words.next() {
            if word.text.hasPrefix("#"), !word.isQuoted {
                words.skipLine()
                continue
            }
            switch word.text {
            case "machine": entries.append(Entry(host: try words.value(of: word).lowercased()))
            case "default": entries.append(Entry(host: nil))
            case "macdef": words.skipMacro()
            case "account": _ = try words.value(of: word)
            case "login", "password":
                let value = try words.value(of: word)
                guard let last = entries.indices.last else {
                    throw Malformed(line: word.line, reason: "'\(word.text)' before any 'machine'")
                }
                if word.text == "login" {
                    entries[last].login = value
                } else {
                    entries[last].password = value
                }
            // It may be a part of a password, so that it is not shown.
            default:
                throw Malformed(
                    line: word.line, reason: "not one of machine, default, login, password, account, macdef")
            }
        }
    }

    /// The words of a file. Those with a space are in quotation marks.
    private struct Words {
        struct Word {
            let text: String
            let line: Int
            let isQuoted: Bool
        }

        private var rest: Substring
        private var line = 1

        init(_ text: String) {
            rest = text.replacing("\r\n", with: "\n")[...]
            if rest.first == "\u{FEFF}" { rest.removeFirst() }
        }

        private mutating func pop() -> Character? {
            let character = rest.popFirst()
            if character == "\n" { line += 1 }
            return character
        }

        mutating func next() throws(Malformed) -> Word? {
            while rest.first?.isWhitespace == true { _ = pop() }
            let begin = line
            guard let first = rest.first else { return nil }
            guard first == "\"" else {
                let text = rest.prefix { !$0.isWhitespace }
                rest = rest.dropFirst(text.count)
                return Word(text: String(text), line: begin, isQuoted: false)
            }
            _ = pop()
            var text = ""
            while let character = pop() {
                switch character {
                case "\"": return Word(text: text, line: begin, isQuoted: true)
                case "\n": throw Malformed(line: begin, reason: "a quotation mark is never closed")
                case "\\":
                    guard let escaped = pop() else { break }
                    let meanings: [Character: Character] = ["n": "\n", "r": "\r", "t": "\t"]
                    text.append(meanings[escaped] ?? escaped)
                default: text.append(character)
                }
            }
            throw Malformed(line: begin, reason: "a quotation mark is never closed")
        }

        mutating func value(of keyword: Word) throws(Malformed) -> String {
            guard let value = try next() else {
                throw Malformed(line: keyword.line, reason: "'\(keyword.text)' has no value")
            }
            return value.text
        }

        mutating func skipLine() { while let character = pop(), character != "\n" {} }

        /// A macro ends with an empty line.
        mutating func skipMacro() {
            skipLine()
            while !rest.isEmpty, rest.first != "\n" { skipLine() }
        }
    }
}

extension Netrc {
    /// Reads the file at `path`; `.netrc` in the home folder if that is empty.
    ///
    /// - Returns: Also a warning if others can read or write the file: it may be a secret that a container mounts with a mode
    ///   of its own, so that it is used nevertheless, as by curl and wget.
    static func read(_ path: String) throws(UsageError) -> (Netrc, warning: String?) {
        let environment = ProcessInfo.processInfo.environment
        let path = path.isEmpty ? "\(environment["HOME"] ?? NSHomeDirectory())/.netrc" : path
        do {
            guard let text = String(validating: try InputList.contents(path, limit: 1 << 24), as: UTF8.self)
            else {
                throw Malformed(line: 1, reason: "the file is not UTF-8")
            }
            let netrc = try Netrc(parsing: text)
            var status = stat()
            guard !netrc.isEmpty, stat(path, &status) == 0, let others = others(with: status.st_mode)
            else { return (netrc, nil) }
            return (netrc, "\(others) '\(path)', which has passwords; chmod 600 '\(path)'")
        } catch {
            throw UsageError(
                problem: "cannot read '\(path)' for --netrc: \(ErrorText.inWords(error))",
                hint: "it has lines such as 'machine example.org login me password secret'")
        }
    }

    /// Returns who else can read or write a file of that mode, in words; nil for nobody.
    static func others(with mode: mode_t) -> String? {
        func words(_ bits: mode_t) -> String? {
            ["write", "read", "read and write"].dropFirst(Int(bits >> 1) - 1).first
        }
        let (group, everyone) = (mode >> 3 & 6, mode & 6)
        let parts = [
            everyone == 0 ? nil : words(everyone).map { "everyone can \($0)" },
            group & ~everyone == 0 ? nil : words(group).map { "its group can \($0)" },
        ].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ", and ")
    }
}
