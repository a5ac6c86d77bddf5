import Foundation

/// The name of the file for a URL: the last path component, made safe. It never leads out of its folder.
enum FileName {
    static func of(_ url: URL) -> String {
        let encoded = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedPath ?? ""
        let last = encoded.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        // Bytes that are not valid UTF-8 stay encoded, so that different names stay different.
        return safe(last.removingPercentEncoding ?? String(last)) ?? "index.html"
    }

    /// Returns the name that a server has sent, made safe; nil if nothing is left of it.
    ///
    /// Of a path, the last component counts (RFC 6266, 4.3). A name that begins with a dot would be a hidden file, such
    /// as one that a shell reads at its start; one that begins with a dash looks like an option to a program that is
    /// given it.
    static func ofServer(_ text: String) -> String? {
        let last = text.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? ""
        let trimmed = last.trimmingCharacters(in: .whitespacesAndNewlines)
        return safe(trimmed.hasPrefix(".") || trimmed.hasPrefix("-") ? "_" + trimmed.dropFirst() : trimmed)
    }

    private static func safe(_ name: String) -> String? {
        let safe = String(String.UnicodeScalarView(name.unicodeScalars.map { isUnsafe($0) ? "_" : $0 }))
        switch safe {
        case "": return nil
        case ".": return "_"
        case "..": return "__"
        default: return shortened(safe)
        }
    }

    /// Returns true for separators, which would name another folder; and for characters that are unsafe to print, by
    /// which a name could look like another one.
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "/" || scalar == "\\" || scalar.isUnsafeToPrint
    }

    /// File systems allow 255 bytes; the rest is for a number and for the ending of a part file.
    private static let byteLimit = 200

    /// Shortens a name to the limit, and keeps its extension.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > byteLimit else { return name }
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 20 {
            let isOfArchive = name[..<dot].lowercased().hasSuffix(".tar")
            ending = String(isOfArchive ? name[name.index(dot, offsetBy: -4)...] : name[dot...])
        }
        var stem = ""
        var room = byteLimit - ending.utf8.count
        for character in name.dropLast(ending.count) {
            room -= character.utf8.count
            guard room >= 0 else { break }
            stem.append(character)
        }
        return stem + ending
    }
}

/// Makes names unique: `name`, `name.1`, `name.2`.
struct UniqueNames {
    /// Endings for the files beside a file, whose names are reserved too.
    private let endings: [String]
    private var taken: Set<String> = []
    private var nextNumber: [String: Int] = [:]

    init(besides endings: [String] = []) { self.endings = endings }

    mutating func make(_ name: String) -> String {
        var candidate = name
        while !take(candidate) {
            let number = nextNumber[name, default: 1]
            nextNumber[name] = number + 1
            candidate = "\(name).\(number)"
        }
        return candidate
    }

    private mutating func take(_ name: String) -> Bool {
        let wanted = ([""] + endings).map { Self.folded(name + $0) }
        guard taken.isDisjoint(with: wanted) else { return false }
        taken.formUnion(wanted)
        return true
    }

    /// Returns the form in which the file system compares names.
    private static func folded(_ name: String) -> String {
        #if canImport(Darwin)
        name.lowercased()
        #else
        name
        #endif
    }
}
