import DeferredOperations
import Foundation

/// Parsing and checking URLs.
enum WebAddress {
    /// Why a text is not a URL that can be fetched.
    struct Invalid: Error, CustomStringConvertible {
        let description: String
    }

    static func parse(_ text: String) throws(Invalid) -> URL {
        guard !text.isEmpty else { throw Invalid(description: "not a URL: it is empty") }
        guard let scheme = scheme(of: text) else {
            // Browsers accept "example.org/a", "localhost:8080/a" and "//example.org/a".
            let rest = text.trimmingPrefix("//")
            throw Invalid(
                description: "not a URL: it has no scheme (did you mean http://\(shown(String(rest)))?)")
        }
        guard scheme == "http" || scheme == "https" else {
            throw Invalid(description: "only http and https can be fetched, not \(scheme)")
        }
        guard let components = URLComponents(string: text), let url = components.url else {
            throw Invalid(description: "not a URL: \(fault(in: shown(text)))")
        }
        guard let host = components.host, !host.isEmpty else {
            throw Invalid(description: "not a URL: it has no host")
        }
        if hasPasswordForPath(text) {
            let hint = "in a password, / is %2F, ? is %3F, and # is %23"
            throw Invalid(description: "not a URL: it has no port after the colon (\(hint))")
        }
        if let port = components.port, !(1...65535).contains(port) {
            throw Invalid(description: "not a URL: \(port) is not a port (1 to 65535)")
        }
        return url
    }

    /// Whether what looks like a host and an empty port is more likely a user, and the path a password: it has an `@`.
    private static func hasPasswordForPath(_ text: String) -> Bool {
        let rest = text[(text.firstRange(of: "//")?.upperBound ?? text.startIndex)...]
        let authority = rest.prefix { !"/?#".contains($0) }
        return authority.last == ":" && !authority.contains("@") && rest.contains("@")
    }

    /// Returns the text as it may be shown: without user and password. Where those end is uncertain in a
    /// malformed URL, of which the part up to the last `@` is left out.
    static func shown(_ text: String) -> String {
        guard hasPasswordForPath(text), let at = text.lastIndex(of: "@") else { return text.withoutUserInfo }
        let scheme = text.firstRange(of: "//").map { text[..<$0.upperBound] } ?? ""
        return String(scheme + text[text.index(after: at)...])
    }

    /// Returns the lowercased text before the colon, unless the text is a host and a port
    /// ("localhost:8080/a").
    private static func scheme(of text: String) -> String? {
        // Without a regular expression, which would be parsed again for each of thousands of lines.
        let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        let afterColon = text[scheme.endIndex...].dropFirst()
        guard scheme.first?.isLetter == true, text[scheme.endIndex...].first == ":",
            let next = afterColon.first, !(next.isASCII && next.isNumber)
        else { return nil }
        return scheme.lowercased()
    }

    /// Returns the likely reason why a text cannot be parsed.
    private static func fault(in text: String) -> String {
        if text.contains("["), !text.contains("]") { return "the '[' of its host is never closed" }
        let afterScheme = text[(text.firstRange(of: "://")?.upperBound ?? text.startIndex)...]
        let authority = afterScheme.prefix { !"/?#".contains($0) }
        if authority.contains(where: \.isWhitespace) { return "its host '\(authority)' has a space in it" }
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]"),
            Int(authority[authority.index(after: colon)...]) == nil
        {
            return "'\(authority[authority.index(after: colon)...])' is not a port"
        }
        return "it is malformed"
    }
}
