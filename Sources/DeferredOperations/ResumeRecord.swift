internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// What has to be known to go on with a part file: it is kept in a file of its own beside that.
struct ResumeRecord: Codable {
    /// The address that was asked.
    let url: URL
    /// What tells whether the server still has the same thing: a strong entity tag or a date, for `If-Range`.
    let validator: String

    /// Nil if the server said nothing to go by.
    init?(_ response: HTTPURLResponse, for url: URL) {
        guard let validator = Self.validator(of: response),
            response.value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() != "none"
        else { return nil }
        self.url = url
        self.validator = validator
    }

    /// The record in that file, if there is one.
    init?(contentsOf path: String) {
        guard let data = FileManager.default.contents(atPath: path),
            let record = try? JSONDecoder().decode(ResumeRecord.self, from: data)
        else { return nil }
        self = record
    }

    /// Writes it, in one step; false if that was not to be done.
    func write(to path: String) -> Bool {
        guard let data = try? JSONEncoder().encode(self) else { return false }
        return (try? data.write(to: URL(fileURLWithPath: path), options: .atomic)) != nil
    }

    /// A weak tag does not vouch for bytes.
    static func validator(of response: HTTPURLResponse) -> String? {
        if let tag = response.value(forHTTPHeaderField: "ETag"), !tag.isEmpty, !tag.hasPrefix("W/") {
            return tag
        }
        return response.value(forHTTPHeaderField: "Last-Modified")
    }
}
