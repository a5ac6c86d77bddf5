import Foundation

/// The name of a file in a header `Content-Disposition` (RFC 6266), as a server sends it: not safe yet.
enum ContentDisposition {
    /// Returns the name; nil if there is none, or if it is broken.
    ///
    /// `filename*` (RFC 8187) is preferred; where it cannot be decoded, `filename` is used. Of two parameters of the
    /// same name, the first counts, as in browsers.
    static func fileName(_ header: String) -> String? {
        var parameters: [String: String] = [:]
        for (name, value) in self.parameters(header) where parameters[name] == nil {
            parameters[name] = value
        }
        let extended = parameters["filename*"].flatMap(decoded)
        return [extended, parameters["filename"]].compactMap { $0 }.first { !$0.isEmpty }
    }

    /// Reads `; name=token` and `; name="text"`, after the type, which may be missing.
    private static func parameters(_ header: String) -> [(String, String)] {
        var result: [(String, String)] = []
        var rest = header[...]
        while !rest.isEmpty {
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(name.count)
            guard rest.popFirst() == "=" else { continue }
            rest = rest.drop { $0.isWhitespace }
            var value = ""
            if rest.first == "\"" {
                rest.removeFirst()
                value = quoted(&rest)
                rest = rest.drop { $0 != ";" }
            } else {
                value = rest.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
                rest = rest.drop { $0 != ";" }
            }
            result.append((name.trimmingCharacters(in: .whitespaces).lowercased(), value))
            rest = rest.dropFirst()
        }
        return result
    }

    /// Returns the text up to the quotation mark that ends it, which may be missing.
    private static func quoted(_ rest: inout Substring) -> String {
        var text = ""
        while let character = rest.popFirst(), character != "\"" {
            // Of a path of Windows, which servers send without escaping, the backslashes are separators.
            let isEscaped = character == "\\" && (rest.first == "\"" || rest.first == "\\")
            text.append(isEscaped ? rest.removeFirst() : character)
        }
        return text
    }

    /// Decodes `UTF-8'language'%e2%82%ac`. Nil for other character sets than UTF-8 and ISO 8859-1, or broken bytes.
    private static func decoded(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = bytes(parts[2]) else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }

    private static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2).map { Character(Unicode.Scalar($0)) }
            guard digits.count == 2, let value = UInt8(String(digits), radix: 16), digits[0].isHexDigit else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
