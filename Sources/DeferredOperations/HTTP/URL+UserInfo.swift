internal import Foundation

extension URL {
    /// This URL without user and password, as it may stand in errors and files.
    var withoutUserInfo: URL {
        let text = absoluteString
        let stripped = text.withoutUserInfo
        return stripped == text ? self : URL(string: stripped) ?? self
    }
}

extension String {
    /// This address without the part before `@`.
    var withoutUserInfo: String {
        guard let slashes = firstRange(of: "//") else { return self }
        let rest = self[slashes.upperBound...]
        let authority = rest.prefix { !"/?#\\".contains($0) }
        guard let at = authority.lastIndex(of: "@") else { return self }
        return String(self[..<slashes.upperBound] + self[index(after: at)...])
    }
}
